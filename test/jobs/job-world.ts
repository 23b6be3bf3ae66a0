import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { known, tempFolder } from '../support/folder.ts';
import { type AnswerError, PLENTY, startWorld, type WorldOptions } from '../support/gateway.ts';
import { openFolder } from '../support/store.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

/** A job as these tests select it. */
export interface ShownJob {
  readonly id: string;
  readonly state: string;
  readonly name: string;
  readonly rowsDone: number;
  readonly rowsTotal: number | null;
  readonly failures: number;
  readonly callsSpent: number;
  readonly callsLeft: number | null;
  readonly readyAt: string | null;
  readonly asOf: { readonly oldest: string; readonly newest: string } | null;
  readonly url: string | null;
  readonly bytes: number;
  readonly createdBy: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const JOB =
  'id state name rowsDone rowsTotal failures callsSpent callsLeft readyAt asOf { oldest newest } url bytes createdBy error { code message }';

const ROLES = { boss: 'admin', eve: 'editor', eli: 'editor', vic: 'viewer' } as const;

/** The names of callers; their token is their name. */
export type Person = keyof typeof ROLES;

interface JobWorldOptions extends Pick<WorldOptions, 'env'> {
  readonly clock?: VirtualClock;
  readonly on?: Sandbox;
}

/** Gateways on one folder, one after the other, over one sandbox. */
export async function jobWorld({ clock, env, on }: JobWorldOptions = {}) {
  const sandbox =
    on ?? (await startSandbox({ limit: { requests: PLENTY }, ...(clock && { clock }) }));
  const folder = tempFolder();
  const tokens = join(folder, 'tokens.json');
  /** Writes the file of tokens, without some of them or with other roles. */
  const allow = (roles: Partial<Record<Person, 'admin' | 'editor' | 'viewer'>> = ROLES): void => {
    const all = Object.entries(roles).map(([name, role]) => known({ name, role }));
    writeFileSync(tokens, formatTokenFile(all));
  };
  allow();
  const start = async () => {
    const store = await openFolder(join(folder, 'store'), clock);
    const world = await startWorld({
      on: sandbox,
      ...(clock && { clock }),
      store,
      env: {
        AUTH_MODE: 'token',
        AUTH_TOKENS_FILE: tokens,
        shutdownGraceMs: '0',
        // The clock of the test advances while a busy machine needs its time for a request.
        ...(clock && { LINKS_TIMEOUT_MS: '300000' }),
        PORT: '0',
        HOST: '127.0.0.1',
        ...env,
      },
    });
    const { url } = await world.gateway.listen();
    return { ...world, store, url };
  };
  let current = await start();
  onTestFinished(async () => {
    await current.close();
    if (!on) await sandbox.close();
  });
  const as = (name: Person) => ({ authorization: `Bearer ${name}` });
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  const send = async <D>(
    query: string,
    variables: Readonly<Record<string, unknown>> = {},
    name: Person = 'eve',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly data: D; readonly errors: readonly AnswerError[] }> =>
    current.ask<D>(query, variables, { ...as(name), ...headers });
  const job = async (id: string, name?: Person): Promise<ShownJob> => {
    // An answer from memory takes no turn of the event loop; the store needs some.
    await setImmediate();
    const { data, errors } = await send<{ job: ShownJob }>(
      `query($id: ID!) { job(id: $id) { ${JOB} } }`,
      { id },
      name,
    );
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    return data.job;
  };
  return {
    sandbox,
    folder,
    allow,
    send,
    job,
    /** The gateway of now. */
    get world() {
      return current;
    },
    /** Ends the gateway, and starts the next one. */
    async restart() {
      await current.close();
      current = await start();
    },
    /** Starts an export; fails if it is refused. */
    async exports(query: string, more: Readonly<Record<string, unknown>> = {}, name?: Person) {
      const { data, errors } = await send<{ startExport: ShownJob & { message?: string } }>(
        `mutation($input: StartExportInput!) { startExport(input: $input) { ... on Job { ${JOB} } ... on InvalidInput { message } } }`,
        { input: { query, ...more } },
        name,
      );
      const started = data?.startExport;
      if (!started?.id) throw new Error(started?.message ?? JSON.stringify(errors));
      return started.id;
    },
    /** Waits for progress of a job; minutes pass meanwhile. */
    async reaches(id: string, isReached: (job: ShownJob) => boolean): Promise<ShownJob> {
      for (let looks = 0; looks < 500; looks += 1) {
        const now = await job(id, 'boss');
        if (isReached(now)) return now;
        await clock?.advance(10_000);
      }
      throw new Error(`the job stays as it is: ${JSON.stringify(await job(id, 'boss'))}`);
    },
    /** Waits until a job is in one of these states. */
    async until(id: string, ...states: readonly string[]): Promise<ShownJob> {
      for (let looks = 0; looks < 5000; looks += 1) {
        const now = await job(id, 'boss');
        if (states.includes(now.state)) return now;
        if (['FAILED', 'PAUSED'].includes(now.state)) throw new Error(JSON.stringify(now.error));
        await clock?.advance(1000);
      }
      throw new Error(`the job stays as it is: ${JSON.stringify(await job(id, 'boss'))}`);
    },
    /** Downloads the output of a job. */
    async output(id: string, name: Person = 'eve', headers: Readonly<Record<string, string>> = {}) {
      const { url } = await job(id, name);
      return fetch(`${current.url}${url}`, { headers: { ...as(name), ...headers } });
    },
  };
}
