import { reasonOf } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { waitMs } from '../../scheduling/wait.ts';
import { CommandError, exitCode } from '../faults.ts';
import type { ExportOptions, ExportRequest } from './options.ts';
import type { RowOutput } from './row-output.ts';

/** A job, as the graph has it. */
export interface RemoteJob {
  readonly id: string;
  readonly state: 'QUEUED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED' | 'CANCELED' | 'EXPIRED';
  readonly rowsDone: number;
  readonly rowsTotal: number | null;
  readonly callsSpent: number;
  /** A date, in ISO 8601. */
  readonly readyAt: string | null;
  readonly url: string | null;
  readonly bytes: number;
  readonly failures: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

interface ClientOptions extends Pick<ExportOptions, 'token' | 'url'> {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** A request is tried again after a while. */
  readonly delayed: (sentence: string) => void;
}

/** The gateway refuses a request, also if it is repeated. */
export class RefusedRequest extends CommandError {}

/** The gateway does not answer now. */
class Unavailable extends Error {
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** How long a request of the graph can take, in milliseconds. */
const PATIENCE_MS = 30_000;
/** How long a gateway can be unavailable: before its first answer, when its address may be wrong, and after it. */
const GIVE_UP_AT_FIRST_MS = 30_000;
const GIVE_UP_MS = 10 * 60_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5000;
/** Codes of errors in the query or its variables. */
const OF_INPUT: readonly unknown[] = ['BAD_USER_INPUT', 'OPERATION_TOO_EXPENSIVE'];

const FIELDS =
  'id state rowsDone rowsTotal callsSpent readyAt url bytes failures error { code message }';
const START = `mutation Export($input: StartExportInput!) {
  startExport(input: $input) { ... on Job { id } ... on InvalidInput { message } }
}`;
const RESUME = 'mutation Resume($id: ID!) { resumeJob(id: $id) { id } }';
const READ = `query Progress($id: ID!) { job(id: $id) { ${FIELDS} } }`;

/**
 * The jobs of a running gateway. A request is repeated while the gateway is unavailable, as during a restart. No
 * request costs upstream requests. All methods throw RefusedRequest if the gateway refuses the request, CommandError if
 * it is unavailable for too long, and the reason of the signal when that aborts.
 */
export class GatewayClient {
  readonly #options: ClientOptions;
  #hasAnswered = false;
  /** Since when it is unavailable, on `clock.now()`; `null` if it is not. */
  #failedAt: number | null = null;
  #waitMs = FIRST_WAIT_MS;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Starts an export, or finds the one that was started with this key. Returns its ID. */
  async start(input: ExportRequest, key: string): Promise<string> {
    const headers = { 'idempotency-key': `"${key}"` };
    const { startExport } = await this.#ask<{
      readonly startExport: Pick<RemoteJob, 'id'> | { readonly message: string };
    }>(START, { input }, headers);
    if ('id' in startExport) return startExport.id;
    throw new RefusedRequest(startExport.message, { exitCode: exitCode.usage });
  }

  /** Continues a job that has failed. */
  async resume(id: string): Promise<void> {
    await this.#ask(RESUME, { id });
  }

  /** `null` if the caller has no such job. */
  async job(id: string): Promise<RemoteJob | null> {
    return (await this.#ask<{ readonly job: RemoteJob | null }>(READ, { id })).job;
  }

  /** Writes what an output lacks of the rows so far. */
  async download(path: string, output: RowOutput): Promise<void> {
    await this.#persist(async () => {
      const { offset } = output;
      // Without `Range` the body is compressed.
      const headers = offset === 0 ? {} : { range: `bytes=${offset}-` };
      const response = await this.#send(path, { headers, signal: this.#options.signal });
      if (response.status === 416) {
        // Another replica does not have the rows yet.
        await response.body?.cancel();
        return;
      }
      if (response.status !== (offset === 0 ? 200 : 206)) throw await this.#refused(response);
      const chunks = response.body?.getReader();
      for (;;) {
        const chunk = await chunks?.read().catch((error: unknown) => this.#lost(error));
        if (!chunk || chunk.done) return;
        await output.write(chunk.value);
        this.#progressed();
      }
    });
  }

  async #ask<T>(query: string, variables: object, headers = {}): Promise<T> {
    return this.#persist(async () => {
      const response = await this.#send('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query, variables }),
        signal: AbortSignal.any([this.#options.signal, AbortSignal.timeout(PATIENCE_MS)]),
      });
      const isJson = response.headers.get('content-type')?.includes('json');
      if (!isJson) throw await this.#refused(response);
      const answer = (await response.json().catch((error: unknown) => this.#lost(error))) as Answer;
      const [error] = answer.errors ?? [];
      if (error) throw faultOf(error);
      this.#progressed();
      return answer.data as T;
    });
  }

  async #send(path: string, { headers, ...init }: RequestInit): Promise<Response> {
    const { token, url } = this.#options;
    const credentials = token === null ? {} : { authorization: `Bearer ${token}` };
    const all = Object.assign({}, headers, credentials) as Record<string, string>;
    // Not followed: the token is for this address.
    const request = { ...init, headers: all, redirect: 'manual' as const };
    const response = await fetch(url + path, request).catch((error: unknown) => this.#lost(error));
    if (![429, 502, 503, 504].includes(response.status)) return response;
    await response.body?.cancel();
    throw new Unavailable(`status ${response.status}`, retryAfterMs(response));
  }

  /** @throws Unavailable for a connection that failed. */
  #lost(error: unknown): never {
    this.#options.signal.throwIfAborted();
    const { cause } = error as Error;
    throw new Unavailable(reasonOf(cause instanceof Error ? cause : error));
  }

  async #refused(response: Response): Promise<RefusedRequest> {
    const { url } = this.#options;
    const text = await response.text().catch((error: unknown) => this.#lost(error));
    let message = `${url} answers with status ${response.status}. Check --url.`;
    try {
      message = (JSON.parse(text) as Answer).errors?.[0]?.message ?? message;
    } catch {
      // Another program answers.
    }
    return new RefusedRequest(message);
  }

  /** A request has progressed: the time until the command gives up begins again. */
  #progressed(): void {
    this.#hasAnswered = true;
    this.#failedAt = null;
    this.#waitMs = FIRST_WAIT_MS;
  }

  /** Repeats a request while the gateway is unavailable. */
  async #persist<T>(request: () => Promise<T>): Promise<T> {
    const { clock, delayed, signal, url } = this.#options;
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        const now = clock.now();
        this.#failedAt ??= now;
        const giveUpMs = this.#hasAnswered ? GIVE_UP_MS : GIVE_UP_AT_FIRST_MS;
        const sentence = `The gateway at ${url} is unavailable (${error.message}).`;
        if (now - this.#failedAt >= giveUpMs) throw new CommandError(sentence);
        delayed(`${sentence} It is tried again.`);
        await waitMs(clock, Math.max(this.#waitMs, error.retryAfterMs), signal);
        this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
      }
    }
  }
}

interface AnswerError {
  readonly message: string;
  readonly extensions?: { readonly code?: unknown; readonly retryAfterMs?: unknown };
}

interface Answer {
  readonly data?: unknown;
  readonly errors?: readonly AnswerError[];
}

function faultOf({ extensions, message }: AnswerError): RefusedRequest {
  const code = extensions?.code;
  const hint = code === 'UNAUTHENTICATED' ? ' Set GATEWAY_TOKEN to a valid token.' : '';
  const isOfInput = OF_INPUT.includes(code);
  return new RefusedRequest(message + hint, {
    exitCode: isOfInput ? exitCode.usage : exitCode.fault,
  });
}

function retryAfterMs({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after'));
  return Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : 0;
}
