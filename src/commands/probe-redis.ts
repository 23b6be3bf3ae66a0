import type { RedisConfig } from '../config/redis.ts';
import { placeOf, readAddress } from '../redis/connection/address.ts';
import { RedisClient } from '../redis/connection/client.ts';
import { redisNames } from '../redis/connection/names.ts';
import { deniedTo } from '../redis/connection/permissions.ts';
import { checkMaster, findMaster } from '../redis/connection/sentinel.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Finding } from '../upstream/diagnosis.ts';

/** The result of a probe of Redis. */
interface RedisProbed {
  /** Whether it responds, and problems that do not prevent its use. */
  readonly remarks: readonly string[];
  readonly findings: readonly Finding[];
  /** Whether gateways use it, or have used it: what they have spent is counted there. */
  readonly isUsed: boolean;
}

/** The field of the shared state that is there from the first replica on. */
const EPOCH = '#';

/** Timeout for Redis, and for each Sentinel, in milliseconds. */
const PATIENCE_MS = 5000;

/** Errors of Redis, Sentinel, TLS and the resolver that a setting can fix. */
const ofSettings =
  /WRONGPASS|NOAUTH|NOPERM|NOPROTO|unknown command|DB index|knows no master|ENOTFOUND|ERR_SSL/;
const ofCertificates = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/;

/**
 * Connects to Redis as the gateway would, and says what is wrong: a password, a version, a replica,
 * a permission that is missing. Changes nothing in it.
 */
export async function probeRedis(redis: RedisConfig, clock: Clock): Promise<RedisProbed> {
  const { signal } = new AbortController();
  const options = { clock, connectMs: PATIENCE_MS, lost: () => {} };
  const addresses = redis.urls.map(readAddress);
  const [first] = addresses;
  const remarks: string[] = [];
  const findings: Finding[] = [];
  const fault = (sentence: string): void => {
    findings.push({ sentence, at: 'configuration' });
  };
  let isUsed = false;
  if (first === undefined) return { remarks, findings, isUsed };
  try {
    const server =
      redis.sentinelName === null
        ? first
        : await findMaster(addresses, redis.sentinelName, options, signal);
    const client = await RedisClient.open(server, options, signal, async (opened) => {
      if (redis.sentinelName !== null) await checkMaster(opened);
      const pong = String(await opened.send(['PING']));
      const info = readInfo(String(await opened.send(['INFO'])));
      const version = info.get('redis_version') ?? 'unknown';
      remarks.push(`${placeOf(server)} answers ${pong} (version ${version}).`);
      checkServer(info, fault);
      if (info.get('maxmemory_policy')?.startsWith('allkeys-')) {
        remarks.push(
          `Its maxmemory-policy is ${info.get('maxmemory_policy')}: a full Redis may evict the rate limit ledger, and then no upstream requests are sent for a while. Set volatile-lru.`,
        );
      }
      // The command is newer than the oldest version that is supported.
      if (findings.length > 0) return;
      const names = redisNames(redis.prefix);
      const denied = await deniedTo((command) => opened.send(command), names);
      if (denied.length > 0) {
        fault(
          `The user of REDIS_URL lacks permissions: ${denied.join(', ')}. Grant them with ACL SETUSER.`,
        );
        return;
      }
      const [state] = names.keys;
      isUsed = (await opened.send(['HGET', state, EPOCH])) !== null;
    });
    client.destroy();
  } catch (error) {
    findings.push(reasonFor((error as Error).message));
  }
  return { remarks, findings, isUsed };
}

function reasonFor(message: string): Finding {
  if (ofCertificates.test(message)) {
    return {
      sentence: `The certificate of Redis is not trusted (${message}). Check REDIS_URL, or add its authority with NODE_EXTRA_CA_CERTS.`,
      at: 'configuration',
    };
  }
  if (ofSettings.test(message)) {
    return {
      sentence: `Redis rejects the credentials (${message}). Check REDIS_URL.`,
      at: 'configuration',
    };
  }
  return { sentence: `Redis is unreachable (${message}).`, at: 'world' };
}

function checkServer(info: ReadonlyMap<string, string>, fault: (sentence: string) => void): void {
  if (!(Number.parseInt(info.get('redis_version') ?? '', 10) >= 7)) {
    fault('The gateway requires Redis 7.0 or later. Change REDIS_URL.');
  }
  if (!info.get('run_id')) {
    fault(
      'This Redis does not report its run_id, which is needed to detect restarts. Change REDIS_URL.',
    );
  }
  if (info.get('role') !== 'master') {
    fault('This Redis is a read-only replica. Set REDIS_URL to its master.');
  }
}

function readInfo(text: string): Map<string, string> {
  const pairs = text.split(/\r?\n/).map((line): [string, string] => {
    const [name = '', ...value] = line.split(':');
    return [name, value.join(':')];
  });
  return new Map(pairs);
}
