import type { Address } from './address.ts';
import { RedisClient, type RedisClientOptions } from './client.ts';

/**
 * Queries Sentinels in turn for the address of the master. The credentials, the database and the TLS of the first
 * URL are those of Redis itself. A Sentinel is queried without credentials first, and if it requires some, with
 * those of its own URL or else of the first. Throws an `Error` with the reason of the last failure.
 */
export async function findMaster(
  sentinels: readonly Address[],
  name: string,
  options: Pick<RedisClientOptions, 'clock' | 'connectMs'>,
  signal: AbortSignal,
): Promise<Address> {
  const [first] = sentinels;
  let reason: unknown;
  for (const sentinel of sentinels) {
    try {
      const [host, port] = await ask(sentinel, first, name, options, signal);
      if (first !== undefined) return { ...first, host, port };
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}

/** Checks that the server is a master: a Sentinel may have outdated information. */
export async function checkMaster(client: RedisClient): Promise<void> {
  const role = await client.send(['ROLE']);
  if (!Array.isArray(role) || role[0] !== 'master') throw new Error('is not a master');
}

async function ask(
  sentinel: Address,
  first: Address | undefined,
  name: string,
  options: Pick<RedisClientOptions, 'clock' | 'connectMs'>,
  signal: AbortSignal,
): Promise<[host: string, port: number]> {
  const found: string[] = [];
  const inquire = async (client: RedisClient): Promise<void> => {
    const reply = await client.send(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]);
    if (!Array.isArray(reply)) throw new Error(`knows no master called ${name}`);
    found.push(...reply.map(String));
  };
  const bare = { ...sentinel, username: null, password: null, database: 0 };
  const { username, password } = sentinel.password === null ? (first ?? sentinel) : sentinel;
  const passive = { ...options, lost: () => {} };
  try {
    (await RedisClient.open(bare, passive, signal, inquire)).destroy();
  } catch (error) {
    if (password === null || !String(error).includes('NOAUTH')) throw error;
    (await RedisClient.open({ ...bare, username, password }, passive, signal, inquire)).destroy();
  }
  const [host = '', port = ''] = found;
  return [host, Number(port)];
}
