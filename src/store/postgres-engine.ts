import { Client } from 'pg';
import { reasonOf } from '../errors.ts';
import {
  type Attempt,
  type Batch,
  type Engine,
  type Occupied,
  type Owner,
  type Selection,
  StoreError,
} from './engine.ts';

/** Names the lock of the owner: an arbitrary number of this program. */
const LOCK = 6_021_979_113;
/** The table of all values; keys are in the order of their bytes, as in the other engines. */
const TABLE = 'links_market_gateway';
const OWNER_KEY = 'meta/owner';
/** Number of values that are read at once. */
const PAGE = 256;
/** A session that does not answer a query for this time is lost, in milliseconds. */
const ANSWER_MS = 10_000;
/** The server ends the session of a machine that vanished after about this many seconds, and frees the lock. */
const SESSION = `
  SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2;
  SET tcp_user_timeout = 8000; SET synchronous_commit = on`;

interface PostgresOptions {
  /** Such as `postgres://user:password@host/database`. */
  readonly url: string;
  readonly owner: Owner;
}

/**
 * Tries to own a database: the session that holds the lock also writes, so that nothing is written by a process that lost
 * it. Makes the table if it is missing.
 * @throws StoreError `UNAVAILABLE`
 */
export async function openPostgres(options: PostgresOptions): Promise<Attempt> {
  const client = await connect(options.url);
  try {
    if (await takesLock(client)) return { engine: await own(client, options) };
    return { occupied: new OccupiedDatabase(client, options) };
  } catch (error) {
    await end(client);
    throw unavailable(error);
  }
}

/** The engine over a session that has the lock. */
async function own(client: Client, options: PostgresOptions): Promise<Engine> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS known', [TABLE]);
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${TABLE} (key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL)`,
  );
  const engine = new PostgresEngine(client, options, rows[0]?.known === true);
  await engine.write({
    cleared: [],
    values: new Map([[OWNER_KEY, Buffer.from(JSON.stringify(options.owner))]]),
  });
  return engine;
}

async function takesLock(client: Client): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS owned', [LOCK]);
  return rows[0]?.owned === true;
}

/** The owner that the table names. */
async function ownerIn(client: Client): Promise<Owner | null> {
  const { rows } = await client.query(`SELECT value FROM ${TABLE} WHERE key = $1`, [OWNER_KEY]);
  return rows[0] ? JSON.parse(rows[0].value.toString('utf8')) : null;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'links-market-gateway',
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 3000,
  });
  // A lost session is noticed by the next query.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(SESSION);
    return client;
  } catch (error) {
    await end(client);
    throw unavailable(error);
  }
}

interface StoredRow {
  readonly key: string;
  readonly value: Buffer;
}

/** The table of this process. */
class PostgresEngine implements Engine {
  readonly isDurable = true;
  readonly isShared = true;
  readonly isComplete: boolean;
  readonly isReplacement = false;
  readonly #options: PostgresOptions;
  /** The session that holds the lock; `null` after its end. */
  #client: Client | null = null;
  #broken: (fault: StoreError) => void = () => {};

  constructor(client: Client, options: PostgresOptions, isComplete: boolean) {
    this.#options = options;
    this.isComplete = isComplete;
    this.#use(client);
  }

  watch(broken: (fault: StoreError) => void): void {
    this.#broken = broken;
  }

  async write({ cleared, values }: Batch): Promise<void> {
    const set = [...values].filter((each): each is [string, Buffer] => each[1] !== null);
    const deleted = [...values].filter(([, value]) => value === null).map(([key]) => key);
    await this.#query('BEGIN');
    for (const { from, to } of cleared) {
      await this.#query(`DELETE FROM ${TABLE} WHERE key >= $1 AND key < $2`, [from, to]);
    }
    if (deleted.length > 0) {
      await this.#query(`DELETE FROM ${TABLE} WHERE key = ANY($1)`, [deleted]);
    }
    if (set.length > 0) {
      await this.#query(
        `INSERT INTO ${TABLE} SELECT * FROM unnest($1::text[], $2::bytea[])
         ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
        [set.map(([key]) => key), set.map(([, value]) => value)],
      );
    }
    await this.#query('COMMIT');
  }

  async *read({
    from,
    limit = Number.POSITIVE_INFINITY,
    reverse = false,
    to,
  }: Selection): AsyncIterable<readonly [string, Buffer]> {
    const order = reverse ? 'DESC' : 'ASC';
    let [first, last] = [from, to];
    for (let left = limit; left > 0; ) {
      const page = await this.#query(
        `SELECT key, value FROM ${TABLE} WHERE key >= $1 AND key < $2 ORDER BY key ${order} LIMIT $3`,
        [first, last, Math.min(left, PAGE)],
      );
      for (const { key, value } of page) yield [key, value] as const;
      const end = page.at(-1);
      if (!end || page.length < PAGE) return;
      if (reverse) last = end.key;
      else first = `${end.key}\u0001`;
      left -= page.length;
    }
  }

  /** Takes the lock again in a new session, unless another process has had it. */
  async recover(): Promise<void> {
    if (this.#client) return;
    const client = await connect(this.#options.url);
    try {
      const isOwned = await takesLock(client);
      if ((await ownerIn(client))?.secret !== this.#options.owner.secret) throw lost();
      // The server has not noticed the end of the session before.
      if (!isOwned) throw unavailable(new Error('the lock of the session before is still held'));
      this.#use(client);
    } catch (error) {
      await end(client);
      throw unavailable(error);
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    if (client) await end(client);
  }

  #use(client: Client): void {
    this.#client = client;
    client.on('end', () => this.#leave(client));
  }

  #leave(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#broken(unavailable(new Error('the session has ended')));
  }

  async #query(text: string, values?: unknown[]): Promise<StoredRow[]> {
    const client = this.#client;
    if (!client) throw unavailable(new Error('the session has ended'));
    try {
      const query = { text, values, query_timeout: ANSWER_MS };
      return (await client.query<StoredRow>(query)).rows;
    } catch (error) {
      if (this.#client === client && isOfStatement(error)) {
        await client.query('ROLLBACK').catch(() => {});
      } else {
        this.#leave(client);
        // A session that does not answer still holds the lock.
        client.connection.stream.destroy();
      }
      throw unavailable(error);
    }
  }
}

/** Another process holds the lock. */
class OccupiedDatabase implements Occupied {
  /** The session that waits for the lock; `null` after a failure. */
  #client: Client | null;
  readonly #options: PostgresOptions;

  constructor(client: Client, options: PostgresOptions) {
    this.#client = client;
    this.#options = options;
  }

  owner(): Promise<Owner | null> {
    return this.#aside(ownerIn);
  }

  async own(signal: AbortSignal, usable?: () => void): Promise<Engine> {
    const client = this.#client ?? (await connect(this.#options.url));
    usable?.();
    this.#client = null;
    const leave = (): void => void end(client);
    signal.addEventListener('abort', leave, { once: true });
    try {
      signal.throwIfAborted();
      await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
      return await own(client, this.#options);
    } catch (error) {
      await end(client);
      signal.throwIfAborted();
      throw unavailable(error);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  depose(): Promise<boolean> {
    return this.#aside(async (client) => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks
         WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32) + objid::bigint = $1
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [LOCK],
      );
      return (rowCount ?? 0) > 0;
    });
  }

  /** Runs queries in a session of their own, since this one waits for the lock. */
  async #aside<T>(run: (client: Client) => Promise<T>): Promise<T> {
    const client = await connect(this.#options.url);
    try {
      return await run(client);
    } catch (error) {
      throw unavailable(error);
    } finally {
      await end(client);
    }
  }
}

async function end(client: Client): Promise<void> {
  await client.end().catch(() => {});
}

/** Whether the server rejected one statement, and the session goes on. */
function isOfStatement(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // Class 57 is an operator's intervention, 08 a lost connection.
  return /^[0-9A-Z]{5}$/.test(code) && !/^(?:57P|08)/.test(code);
}

function unavailable(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError('UNAVAILABLE', `DATABASE_URL cannot be used (${reasonOf(error)}).`, {
    cause: error,
  });
}

function lost(): StoreError {
  return new StoreError('LOST', 'Another process has owned the database of DATABASE_URL.');
}
