import type { Plugin } from 'graphql-yoga';

/** The hooks that Yoga runs through promises, each at a cost of its own however little it does. */
const COMBINED = [
  'onRequest',
  'onRequestParse',
  'onParams',
  'onExecute',
  'onResultProcess',
  'onResponse',
] as const;

type HookOf<Name extends keyof Plugin> = NonNullable<Plugin[Name]>;

/** One run of the hooks of one kind. */
interface Run<Returned> {
  /** Whether a hook has settled the outcome, so that the rest are left out. */
  ended: boolean;
  /** What the hooks returned for later. */
  readonly returned: Exclude<Returned, void | undefined>[];
}

/** What a hook returns for later. */
type Returned<Hook extends (payload: never) => unknown> = Extract<
  Awaited<ReturnType<Hook>>,
  object
>;

type RequestParseDone = NonNullable<Returned<HookOf<'onRequestParse'>>['onRequestParseDone']>;
type ExecuteDone = NonNullable<Returned<HookOf<'onExecute'>>['onExecuteDone']>;

/**
 * The same plugins for less: the hooks that Yoga would run through promises, in order, as one hook each that runs
 * them in a loop, and waits only for what returns a promise. What one sets is there for the next, in the payload,
 * which no other plugin gets. All other hooks stay with their plugins.
 */
export function combinedPlugins(plugins: readonly Plugin[]): Plugin[] {
  const combined: Plugin = {
    onRequest: combinedRequest(hooksOf(plugins, 'onRequest')),
    onRequestParse: combinedRequestParse(hooksOf(plugins, 'onRequestParse')),
    onParams: combinedParams(hooksOf(plugins, 'onParams')),
    onExecute: combinedExecute(hooksOf(plugins, 'onExecute')),
    onResultProcess: combinedResultProcess(hooksOf(plugins, 'onResultProcess')),
    onResponse: combinedResponse(hooksOf(plugins, 'onResponse')),
  };
  const others = plugins.map((plugin) => {
    const rest = { ...plugin };
    for (const name of COMBINED) delete rest[name];
    return rest;
  });
  return [combined, ...others.filter((plugin) => Object.keys(plugin).length > 0)];
}

function hooksOf<Of extends object, Name extends keyof Of>(
  of: readonly Of[],
  name: Name,
): readonly NonNullable<Of[Name]>[] {
  return of.flatMap((each) => {
    const hook = each[name];
    return hook ? [hook] : [];
  });
}

function combinedRequest(hooks: readonly HookOf<'onRequest'>[]): HookOf<'onRequest'> {
  return (payload) => {
    const run: Run<void> = { ended: false, returned: [] };
    const end = payload.endResponse.bind(payload);
    payload.endResponse = (response) => {
      run.ended = true;
      end(response);
    };
    return runFrom(0, hooks, payload, run);
  };
}

function combinedRequestParse(
  hooks: readonly HookOf<'onRequestParse'>[],
): HookOf<'onRequestParse'> {
  return (payload) => {
    const run: Run<{ onRequestParseDone?: RequestParseDone } | void> = {
      ended: false,
      returned: [],
    };
    const { endResponse, setRequestParser } = payload;
    payload.endResponse = (response) => {
      run.ended = true;
      endResponse(response);
    };
    payload.setRequestParser = (parser) => {
      payload.requestParser = parser;
      setRequestParser(parser);
    };
    return then(runFrom(0, hooks, payload, run), () => {
      const afterwards = hooksOf(run.returned, 'onRequestParseDone');
      if (afterwards.length === 0) return undefined;
      return {
        onRequestParseDone: (done) => runFrom(0, afterwards, done, { ended: false, returned: [] }),
      };
    });
  };
}

function combinedParams(hooks: readonly HookOf<'onParams'>[]): HookOf<'onParams'> {
  return (payload) => {
    const { setParams } = payload;
    payload.setParams = (params) => {
      payload.params = params;
      setParams(params);
    };
    return runFrom(0, hooks, payload, { ended: false, returned: [] });
  };
}

function combinedExecute(hooks: readonly HookOf<'onExecute'>[]): HookOf<'onExecute'> {
  return (payload) => {
    const run: Run<{ onExecuteDone?: ExecuteDone } | void> = { ended: false, returned: [] };
    const { setExecuteFn, setResultAndStopExecution } = payload;
    payload.setExecuteFn = (executeFn) => {
      payload.executeFn = executeFn;
      setExecuteFn(executeFn);
    };
    payload.setResultAndStopExecution = (result) => {
      run.ended = true;
      setResultAndStopExecution(result);
    };
    return then(runFrom(0, hooks, payload, run), () => {
      const afterwards = hooksOf(run.returned, 'onExecuteDone');
      return afterwards.length === 0 ? undefined : { onExecuteDone: combinedDone(afterwards) };
    });
  };
}

function combinedDone(hooks: readonly ExecuteDone[]): ExecuteDone {
  return (payload) => {
    const run: Run<Returned<ExecuteDone> | void> = { ended: false, returned: [] };
    showSetResult(payload);
    return then(runFrom(0, hooks, payload, run), () => {
      if (run.returned.length === 0) return undefined;
      const onNext = hooksOf(run.returned, 'onNext');
      const onEnd = hooksOf(run.returned, 'onEnd');
      return {
        onNext: (part) => {
          showSetResult(part);
          return runFrom(0, onNext, part, { ended: false, returned: [] });
        },
        onEnd: () => {
          for (const hook of onEnd) hook();
        },
      };
    });
  };
}

function combinedResultProcess(
  hooks: readonly HookOf<'onResultProcess'>[],
): HookOf<'onResultProcess'> {
  return (payload) => {
    const setResultProcessor = payload.setResultProcessor.bind(payload);
    showSetResult(payload);
    payload.setResultProcessor = (processor, type) => {
      payload.resultProcessor = processor;
      setResultProcessor(processor, type);
    };
    return runFrom(0, hooks, payload, { ended: false, returned: [] });
  };
}

function combinedResponse(hooks: readonly HookOf<'onResponse'>[]): HookOf<'onResponse'> {
  return (payload) => {
    const setResponse = payload.setResponse.bind(payload);
    payload.setResponse = (response) => {
      payload.response = response;
      setResponse(response);
    };
    return runFrom(0, hooks, payload, { ended: false, returned: [] });
  };
}

/** Lets a result that one hook sets be the result of the next. */
function showSetResult<R>(payload: { result: R; setResult: (result: R) => void }): void {
  const { setResult } = payload;
  payload.setResult = (result) => {
    payload.result = result;
    setResult(result);
  };
}

/** Runs the hooks from one on, in order, at once as far as none waits. */
function runFrom<P, R>(
  first: number,
  hooks: readonly ((payload: P) => R | Promise<R>)[],
  payload: P,
  run: Run<R>,
): void | Promise<void> {
  for (let at = first; at < hooks.length; at += 1) {
    const value = hooks[at]?.(payload);
    if (value instanceof Promise) {
      return value.then((settled) => {
        note(settled, run);
        return run.ended ? undefined : runFrom(at + 1, hooks, payload, run);
      });
    }
    note(value, run);
    if (run.ended) return undefined;
  }
  return undefined;
}

function then<T>(before: void | Promise<void>, use: () => T): T | Promise<T> {
  return before instanceof Promise ? before.then(use) : use();
}

function note<R>(value: R, { returned }: Run<R>): void {
  if (value) returned.push(value as Exclude<R, void | undefined>);
}
