import { idempotencyKey } from './idempotency-key.ts';
import { backOffMs, repeat } from './repeat.ts';
import { hasCode, isOpen, retryAfterMs } from './retry-after.ts';
import { isOld, type KeptWrite, type WriteStorage, writeStore } from './write-store.ts';

/** A mutation that a user has decided on, and that has no final answer yet. */
export interface PendingWrite extends KeptWrite {
  /**
   * `sending`: a request is under way. `waiting`: until `retryAt`. `offline`: until the browser is online. `stopped`: not
   * under way, as after a reload; `send` continues it. `expired`: not confirmed within 24 hours.
   */
  readonly state: 'sending' | 'waiting' | 'offline' | 'stopped' | 'expired';
  /** When the next request is sent, in milliseconds since 1970; `null` unless `state` is `waiting`. */
  readonly retryAt: number | null;
  /** Whether it survives a reload. */
  readonly isKept: boolean;
}

/** The answer to a mutation, as GraphQL describes it. */
export interface WriteAnswer<Data = unknown> {
  readonly data?: Data | null | undefined;
  readonly errors?: readonly object[] | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

/** How pending writes are sent and stored. */
export interface PendingWritesOptions {
  /**
   * Sends a write once, with its key in the header `Idempotency-Key`. A rejection, and a result without data and errors,
   * mean that no answer came: the write is sent again. `signal` is aborted when the browser goes offline, and when the
   * write is forgotten.
   */
  readonly send: (write: PendingWrite, signal: AbortSignal) => Promise<WriteAnswer>;
  /** Who is logged in, such as an id: writes of others are not listed. @default '' */
  readonly owner?: string;
  /** Operations whose variables contain secrets, as they are passed to `send`. They are kept in memory only. */
  readonly secret?: readonly string[];
  /** Where writes are stored; `null` for memory only. @default `localStorage`, if there is one */
  readonly storage?: WriteStorage | null;
}

/** The writes of a page that have no final answer yet. */
export interface PendingWrites {
  /**
   * Sends a mutation until its answer is final: again after a lost connection, `OUTCOME_UNKNOWN` with a delay,
   * `IDEMPOTENCY_KEY_IN_USE` and `BUDGET_EXHAUSTED`, and when the browser is online. Another call with the same operation
   * and equal variables joins it, also after a reload: both have one key, so the change is made once. `operation` is a
   * name or a text, for `send` of the options; `variables` are JSON values, not files.
   *
   * Rejects when the write expires, and when it is forgotten.
   */
  readonly send: <Data = unknown>(
    operation: string,
    variables: object,
  ) => Promise<WriteAnswer<Data>>;
  /** All of them, oldest first. The same array until something changes. */
  readonly list: () => readonly PendingWrite[];
  /** Calls the function after each change, until the returned one is called. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Stops a write and removes it. Its change may have been made. */
  readonly forget: (key: string) => void;
}

/** Longest delay if none is given, in milliseconds. */
const LONGEST_WAIT_MS = 30_000;

/**
 * Keeps each mutation with its idempotency key in `localStorage` until it has a final answer, for 24 hours at most. At
 * most 50 are stored, of at most 16,384 characters each; others are kept in memory.
 */
export function pendingWrites(options: PendingWritesOptions): PendingWrites {
  const { owner = '', secret = [] } = options;
  const store = writeStore(owner, options.storage);
  const running = new Map<string, { answer: Promise<WriteAnswer>; stop: AbortController }>();
  const listeners = new Set<() => void>();
  let writes: readonly PendingWrite[] = [];

  const tell = (next: readonly PendingWrite[]): void => {
    writes = next;
    for (const listener of listeners) listener();
  };
  const change = (key: string, part: Partial<PendingWrite>): void =>
    tell(writes.map((each) => (each.key === key ? { ...each, retryAt: null, ...part } : each)));
  const remove = (key: string): void => tell(writes.filter((each) => each.key !== key));
  const find = (key: string) => writes.find((each) => each.key === key);

  /** Takes over what an earlier page and other tabs have stored, and drops what another tab has finished. */
  function load(): void {
    const stored = store.load();
    const left = writes.filter(
      ({ isKept, key, state }) =>
        state !== 'stopped' || !isKept || stored.some((each) => each.key === key),
    );
    const more = stored
      .filter(({ key }) => !find(key))
      .map((each): PendingWrite => {
        const state = isOld(each) ? 'expired' : 'stopped';
        return { ...each, state, retryAt: null, isKept: true };
      });
    if (more.length || left.length < writes.length) {
      tell([...left, ...more].sort((a, b) => a.madeAt - b.madeAt));
    }
  }

  /** Sends it once, when the browser is online. */
  async function attempt(key: string, signal: AbortSignal): Promise<WriteAnswer> {
    if (isOffline()) {
      change(key, { state: 'offline' });
      await online(signal);
    }
    const write = find(key) as PendingWrite;
    if (isOld(write)) throw new Error('The change was not confirmed within 24 hours.');
    // A page that is loaded during the request cannot know its outcome.
    if (write.isKept && !write.isUnsure) store.save({ ...write, isUnsure: true });
    change(key, { state: 'sending' });
    return unlessLost((each) => options.send(write, each), signal);
  }

  async function run({ key, ...write }: PendingWrite, signal: AbortSignal): Promise<WriteAnswer> {
    let { isUnsure } = write;
    let end = 'expired' as 'expired' | 'stopped' | null;
    try {
      return await repeat(
        () => attempt(key, signal),
        async (answer, tries) => {
          let ms: number | null = Math.min(LONGEST_WAIT_MS, backOffMs(tries));
          try {
            const { data, errors = [] } = await answer;
            // Not of the gateway, but of a proxy.
            if (!data && !errors.length) throw TypeError();
            const least = retryAfterMs(errors, undefined, true);
            if (least === null) {
              // It continues when the user has logged in again.
              end = isUnsure && errors.some(isUnauthenticated) ? 'stopped' : null;
              return null;
            }
            isUnsure ||= errors.some(isOpen);
            ms = Math.max(ms, least);
          } catch {
            isUnsure = true;
            // The next attempt waits for the browser instead.
            if (isOffline()) ms = 0;
          }
          change(key, { isUnsure });
          return isOld({ madeAt: write.madeAt - ms }) ? null : ms;
        },
        {
          tries: Infinity,
          maxWaitMs: Infinity,
          signal,
          onWait: ({ ms }) => change(key, { state: 'waiting', retryAt: Date.now() + ms }),
        },
      );
    } finally {
      running.delete(key);
      if (end !== 'stopped') store.remove(key);
      if (end) change(key, { state: end });
      else remove(key);
    }
  }

  load();
  return {
    list: () => writes,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    send<Data>(operation: string, variables: object) {
      load();
      const text = JSON.stringify(variables);
      let write = writes.find(
        (each) =>
          each.state !== 'expired' &&
          each.operation === operation &&
          JSON.stringify(each.variables) === text,
      );
      if (!write) {
        const made = {
          key: idempotencyKey(),
          operation,
          variables: JSON.parse(text) as object,
          madeAt: Date.now(),
          isUnsure: false,
        };
        const isKept = !secret.includes(operation) && store.add(made);
        write = { ...made, state: 'sending', retryAt: null, isKept };
        tell([...writes, write]);
      }
      const found = write;
      let active = running.get(found.key);
      if (!active) {
        const stop = new AbortController();
        // Not before it is known as running: a listener can call `send`.
        const answer = Promise.resolve().then(() => run(found, stop.signal));
        active = { answer, stop };
        running.set(found.key, active);
      }
      return active.answer as Promise<WriteAnswer<Data>>;
    },
    forget(key) {
      running.get(key)?.stop.abort();
      store.remove(key);
      remove(key);
    },
  };
}

const isUnauthenticated = (error: object): boolean => hasCode(error, 'UNAUTHENTICATED');

/** Whether there is certainly no network. */
const isOffline = (): boolean =>
  typeof navigator !== 'undefined' && 'onLine' in navigator && !navigator.onLine;

/** Resolves when the browser is online. */
function online(signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const until = { signal: over.signal };
  return new Promise<void>((resolve, reject) => {
    addEventListener('online', () => resolve(), until);
    signal.addEventListener('abort', () => reject(signal.reason), until);
  }).finally(() => over.abort());
}

/**
 * Rejects when the browser goes offline within a request: such a request can hang for minutes, and the key allows to
 * send it again.
 */
async function unlessLost<T>(
  send: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const request = new AbortController();
  const end = (): void => request.abort(signal.reason);
  const over = new AbortController();
  const until = { signal: over.signal };
  const lost = new Promise<never>((_, reject) => {
    request.signal.addEventListener('abort', () => reject(request.signal.reason), until);
  });
  signal.addEventListener('abort', end, until);
  if (typeof addEventListener === 'function') addEventListener('offline', end, until);
  try {
    return await Promise.race([send(request.signal), lost]);
  } finally {
    over.abort();
  }
}
