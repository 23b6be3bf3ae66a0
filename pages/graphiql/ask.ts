import type { Answer, Plan } from './answer.ts';

/** What is asked. */
export interface Asked {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  readonly operationName?: string | null | undefined;
}

/** How it is asked. */
export interface Manner {
  readonly headers: Readonly<Record<string, string>>;
  /** By the path of the variable that each is for, such as `input.file`. */
  readonly files?: ReadonlyMap<string, File>;
  /** Whether the operation is a query with `@live`: it goes on until the signal ends it. */
  readonly live?: boolean;
  /** Whether the answer may come in parts. */
  readonly inParts?: boolean;
  readonly signal: AbortSignal;
}

/** Relative, so that a proxy may put the gateway below any path. */
const url = './graphql';

/**
 * Asks the gateway, and yields its answer, its parts, or what becomes of it while it is live. Whatever goes wrong on
 * the way is an answer with errors; after the signal there is none. Throws nothing.
 */
export async function* ask(asked: Asked, manner: Manner): AsyncGenerator<Answer> {
  try {
    if (manner.live && !manner.files?.size) yield* follow(asked, manner);
    else yield* answersTo(asked, manner);
  } catch {
    if (!manner.signal.aborted)
      yield failure('The gateway cannot be reached. Check that it is running.');
  }
}

/** What an operation would cost now; `null` where the gateway sends none. 0 upstream calls. */
export async function dryRun(asked: Asked, manner: Manner): Promise<Plan | null> {
  const headers = { ...manner.headers, 'x-gateway-dry-run': '1' };
  for await (const { extensions } of ask(asked, { ...manner, headers, live: false })) {
    return extensions?.plan ?? null;
  }
  return null;
}

async function* answersTo(asked: Asked, manner: Manner): AsyncGenerator<Answer> {
  const { files, headers, inParts, signal } = manner;
  const accept = inParts
    ? 'multipart/mixed;deferSpec=20220824, application/json'
    : 'application/json';
  const response = await fetch(url, {
    method: 'POST',
    signal,
    ...(files?.size ? withFiles(asked, files) : asJson(asked)),
    headers: {
      ...headers,
      accept,
      // A form could come from any page; this header could not.
      ...(files?.size ? { 'apollo-require-preflight': 'true' } : asJson(asked).headers),
    },
  });
  if (/^multipart\//i.test(response.headers.get('content-type') ?? '')) {
    const { meros } = await import('meros/browser');
    const parts = await meros<Answer>(response);
    if (Symbol.asyncIterator in parts) {
      for await (const part of parts) if (part.json) yield part.body;
    }
    return;
  }
  const text = await response.text();
  try {
    yield JSON.parse(text) as Answer;
  } catch {
    yield failure(`A proxy, not the gateway, returned status ${response.status}.`);
  }
}

function asJson(asked: Asked): { body: string; headers: Record<string, string> } {
  return { body: JSON.stringify(asked), headers: { 'content-type': 'application/json' } };
}

/** As the specification of multipart requests has it. */
function withFiles(asked: Asked, files: ReadonlyMap<string, File>): { body: FormData } {
  const form = new FormData();
  const places = [...files.keys()];
  let variables: unknown = asked.variables ?? {};
  for (const path of places) variables = withNull(variables, path.split('.'));
  form.append('operations', JSON.stringify({ ...asked, variables }));
  const map = places.map((path, index) => [index, [`variables.${path}`]]);
  form.append('map', JSON.stringify(Object.fromEntries(map)));
  for (const [index, file] of [...files.values()].entries()) form.append(`${index}`, file);
  return { body: form };
}

/** The same value with `null` at a path, where the file is put in. */
function withNull(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return null;
  const members = (value ?? {}) as Record<string, unknown>;
  return { ...members, [name]: withNull(members[name], rest) };
}

async function* follow(asked: Asked, { headers, signal }: Manner): AsyncGenerator<Answer> {
  const { live } = await import('../../client/live.ts');
  const came: Answer[] = [];
  let ended = signal.aborted;
  let wake = (): void => undefined;
  const stop = live(
    { url, body: asked, headers },
    ({ data, errors, live: state, upstream }) => {
      const extensions = { upstream, live: state };
      came.push({ data, ...(errors && { errors }), extensions } as Answer);
      wake();
    },
    ({ errors, status }) => {
      came.push(errors ? { errors } : failure(`The live query ended with status ${status}.`));
      ended = true;
      wake();
    },
  );
  signal.addEventListener('abort', () => {
    ended = true;
    wake();
  });
  try {
    for (;;) {
      for (const answer of came.splice(0)) yield answer;
      if (ended) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stop();
  }
}

function failure(message: string): Answer {
  return { errors: [{ message }] };
}
