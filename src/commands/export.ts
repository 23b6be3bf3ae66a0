import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { retryingFetch } from '../../client/retry.ts';
import { isSendable, UNSENDABLE } from '../config/secret-text.ts';
import { reasonOf } from '../errors.ts';
import { visibleText } from '../visible-text.ts';
import { readArguments } from './arguments.ts';
import { CommandError, exitCode, UsageError } from './faults.ts';

interface RemoteJob {
  readonly state: string;
  readonly rowsDone: number;
  readonly callsSpent: number;
  readonly failures: number;
  readonly url: string | null;
  readonly error: { readonly message: string } | null;
}

const START = `mutation Export($input: StartExportInput!) {
  startExport(input: $input) { ... on Job { id } ... on InvalidInput { message } }
}`;
const READ = `query Progress($id: ID!) {
  job(id: $id) { state rowsDone callsSpent failures url error { message } }
}`;
/** Between two looks at a job, in milliseconds: twice as long after each. */
const FIRST_LOOK_MS = 250;
const LONGEST_LOOK_MS = 10_000;
/** Requests are repeated for a minute while the gateway is unavailable, as during a restart. */
const send = retryingFetch({ tries: 20, maxWaitMs: 60_000 });

/**
 * Starts an export on a running gateway, waits for its end, and writes its rows to standard output. The process exits
 * with 3 if rows have errors. The gateway spends what the job costs; the command itself costs no upstream request.
 * @throws UsageError for invalid arguments; CommandError if the export is invalid or fails, or the gateway is
 * unavailable for a minute. Neither contains the token.
 */
export async function runExport(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const options = {
    url: { type: 'string', default: 'http://127.0.0.1:4000' },
    format: { type: 'string', default: 'jsonl' },
  } as const;
  const { others, values } = readArguments(args, options, 1);
  const gateway = { url: urlOf(values.url), token: tokenOf(env['GATEWAY_TOKEN']) };
  const input = { query: queryOf(others[0]), format: formatOf(values.format) };
  const { startExport } = await ask<{ startExport: { id?: string; message?: string } }>(
    gateway,
    START,
    { input },
  );
  const { id, message = '' } = startExport;
  if (id === undefined) throw new CommandError(message, { exitCode: exitCode.usage });
  process.stderr.write(`Job ${id} has started. It continues if this command ends.\n`);
  const { callsSpent, error, failures, rowsDone, state, url } = await endOf(gateway, id);
  if (state !== 'DONE' || url === null) {
    const reason = error ? ` ${visibleText(error.message)}` : '';
    throw new CommandError(`Job ${id} is ${state}.${reason} Its rows so far are at ${url}.`);
  }
  const { body, status } = await request(gateway, url);
  if (status !== 200 || !body) throw new CommandError(`${url} answers with status ${status}.`);
  // An error of standard output ends the process, in `main.ts`.
  await pipeline(body, process.stdout, { end: false }).catch((cause: unknown) => {
    throw new CommandError(`The download of ${url} is incomplete (${reasonOf(cause)}).`, { cause });
  });
  const sum = `Complete: ${rowsDone} rows, ${callsSpent} calls, ${failures} with errors.\n`;
  process.stderr.write(sum);
  if (failures > 0) process.exitCode = exitCode.partial;
}

interface RemoteGateway {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string | null;
}

/** A job in a state that does not change by itself. */
async function endOf(gateway: RemoteGateway, id: string): Promise<RemoteJob> {
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS)) {
    const { job } = await ask<{ job: RemoteJob | null }>(gateway, READ, { id });
    if (!job) throw new CommandError(`This caller has no job ${id} on the gateway.`);
    if (job.state !== 'QUEUED' && job.state !== 'RUNNING') return job;
    await pause(lookMs);
  }
}

/** The data of an operation, with an idempotency key: a start that is repeated finds the same job. */
async function ask<T>(
  gateway: RemoteGateway,
  query: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<T> {
  const response = await request(gateway, '/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': `"${randomUUID()}"` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json().catch(() => ({}))) as {
    readonly data?: T;
    readonly errors?: readonly { message: string; extensions?: { code?: unknown } }[];
  };
  if (data && !errors) return data;
  const message = errors?.[0]?.message ?? `${gateway.url} answers with status ${response.status}.`;
  const isOfToken = errors?.[0]?.extensions?.code === 'UNAUTHENTICATED';
  throw new CommandError(
    visibleText(message) + (isOfToken ? ' Set GATEWAY_TOKEN to a valid token.' : ''),
  );
}

async function request(
  { token, url }: RemoteGateway,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  try {
    // Not followed: the token is for this address.
    return await send(url + path, { ...init, headers, redirect: 'manual' });
  } catch (error) {
    const reason = reasonOf((error as Error).cause ?? error);
    throw new CommandError(`The gateway at ${url} is unavailable (${reason}).`);
  }
}

function urlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('--url must be an address such as http://127.0.0.1:4000.');
  }
  return url.href.replace(/(\/graphql)?\/?$/, '');
}

function tokenOf(value: string | undefined): string | null {
  const token = value?.trim() || null;
  if (token === null || isSendable(token)) return token;
  throw new UsageError(`GATEWAY_TOKEN contains ${UNSENDABLE}.`);
}

/** The text of a file, or of standard input. */
function queryOf(file: string | undefined): string {
  if (file === undefined) {
    throw new UsageError('export needs the file of a query, or - for standard input.');
  }
  try {
    // 0 is standard input.
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${reasonOf(error)}).`);
  }
}

function formatOf(word: string): string {
  if (word === 'jsonl' || word === 'csv') return word.toUpperCase();
  throw new UsageError('--format must be jsonl or csv.');
}
