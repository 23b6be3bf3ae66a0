import { randomBytes } from 'node:crypto';
import { createBackends } from '../backends.ts';
import type { Config } from '../config/config.ts';
import { credentialOf, endpointsOf } from '../config/endpoints.ts';
import type { RedisConfig } from '../config/redis.ts';
import { createDigest } from '../digest.ts';
import { GatewayError, type UpstreamName } from '../errors.ts';
import { createJournal } from '../gateway.ts';
import { account } from '../links/account/account.ts';
import { seller } from '../market/seller.ts';
import { EventStream } from '../observe/event-stream.ts';
import { type Clock, systemClock } from '../scheduling/clock.ts';
import { Cache } from '../upstream/cache/cache.ts';
import type { Client } from '../upstream/client.ts';
import { diagnose, type Finding, type Subject } from '../upstream/diagnosis.ts';
import { Receipt } from '../upstream/receipt.ts';
import type { Read } from '../upstream/request.ts';
import type { Witnessed } from '../upstream/wire/exchange.ts';
import { createDispatcher } from '../upstream/wire/undici.ts';

/** What came of a probe. */
interface Probed {
  /** A line or more for each upstream, and for Redis. */
  readonly lines: readonly string[];
  /** `configuration` where anything is wrong that a setting can mend. */
  readonly wrong: 'nothing' | Finding['at'];
}

/** What each upstream is asked for: who the key belongs to. */
const questions: Readonly<Record<UpstreamName, Read<unknown>>> = { LINKS: account, MARKET: seller };

/** One upstream, and what was learnt of it. */
interface Target {
  readonly subject: Subject;
  witnessed: Witnessed | null;
}

/**
 * Connects to Redis, if one is configured, and asks each configured upstream one question with the configured key and says what is wrong. 1 upstream
 * call each, under the rate limit as `STATE_DIR` remembers it, where the call is noted for the next
 * process. While another process owns that folder, nothing is asked: it would not know of the call.
 */
export async function probe(config: Config, clock: Clock = systemClock): Promise<Probed> {
  if (config.sandbox) {
    return { lines: ['The sandbox is not probed: it is part of the gateway.'], wrong: 'nothing' };
  }
  const [upstreams, redis] = await Promise.all([
    probeUpstreams(config, clock),
    config.redis === null ? null : askRedis(config.redis, clock),
  ]);
  if (redis === null) return upstreams;
  return {
    lines: [...upstreams.lines, ...redis.lines],
    wrong: worst([upstreams.wrong, redis.wrong]),
  };
}

async function askRedis(redis: RedisConfig, clock: Clock): Promise<Probed> {
  const { probeRedis } = await import('./probe-redis.ts');
  const { remarks, findings } = await probeRedis(redis, clock);
  const sentences = [...remarks, ...findings.map(({ sentence }) => sentence)];
  return {
    lines: sentences.map((sentence) => `REDIS   ${sentence}`),
    wrong: worst(findings.map(({ at }) => at)),
  };
}

async function probeUpstreams(config: Config, clock: Clock): Promise<Probed> {
  const complaints: string[] = [];
  const warnings: string[] = [];
  const journal = createJournal(
    config,
    clock,
    (sentence) => complaints.push(sentence),
    (sentence) => warnings.push(sentence),
  );
  const dispatcher = createDispatcher();
  try {
    if (complaints.length > 0) {
      return { lines: ['No upstream was asked.', ...complaints, ...warnings], wrong: 'world' };
    }
    const targets = new Map<UpstreamName, Target>();
    const { clients } = createBackends(config, endpointsOf(config, null), {
      dispatcher,
      clock,
      cache: new Cache({ clock, maxBytes: 1 }),
      events: new EventStream(),
      replicas: null,
      digest: createDigest(randomBytes(32).toString('base64')),
      journal,
      witness(subject) {
        const target: Target = { subject, witnessed: null };
        targets.set(subject.upstream, target);
        return {
          isDone: false,
          look(witnessed) {
            target.witnessed = witnessed;
          },
        };
      },
    });
    const asked = await Promise.all(
      clients.map(async (client) => {
        const failure = await ask(client, config, clock);
        const target = targets.get(client.upstream);
        return target ? { target, findings: findingsOf(target, failure, clock) } : [];
      }),
    );
    const { lines, wrong } = report(asked.flat());
    return { lines: [...lines, ...warnings], wrong };
  } finally {
    journal.close();
    await dispatcher.close();
  }
}

/** Asks one upstream. 1 upstream call, or none while its budget is spent; answers with why it failed. */
async function ask(client: Client, config: Config, clock: Clock): Promise<unknown> {
  const endpoint = client.upstream === 'LINKS' ? config.links.endpoint : config.market.endpoint;
  const { signal } = new AbortController();
  const receipt = new Receipt(clock);
  const caller = { name: 'probe', receipt, maxWaitMs: config.maxWaitMs, signal };
  try {
    // As a secret it is sent once, whatever comes of it.
    await client.writes.readSecret(questions[client.upstream], {
      caller,
      credential: credentialOf(endpoint),
    });
    return null;
  } catch (error) {
    return error;
  }
}

/** What is wrong with an upstream that was asked for what it must have. */
function findingsOf({ subject, witnessed }: Target, failure: unknown, clock: Clock): Finding[] {
  const found = witnessed ? diagnose(witnessed, subject, clock.wall()) : [];
  if (failure === null || found.some(({ at }) => at === 'configuration')) return found;
  const { upstream } = subject;
  const code = failure instanceof GatewayError ? failure.code : 'INTERNAL_SERVER_ERROR';
  // An API that is in order refuses a request without a key.
  if (code === 'UPSTREAM_UNAUTHENTICATED' && !subject.ownKey) return found;
  const setting = `${upstream}_BASE_URL`;
  switch (code) {
    case 'BUDGET_EXHAUSTED':
      return [...found, { sentence: (failure as GatewayError).message, at: 'world' }];
    case 'UPSTREAM_FORBIDDEN':
    case 'UPSTREAM_REJECTED':
      return [
        ...found,
        {
          sentence: `The ${upstream} upstream does not show the account of ${upstream}_API_KEY (HTTP ${witnessed?.answer?.status}). Check ${setting}, and what the key may do.`,
          at: 'configuration',
        },
      ];
    case 'UPSTREAM_UNAVAILABLE': {
      // Why no answer came is found already.
      if (!witnessed?.answer) return found;
      const { cause } = failure as GatewayError;
      const sentence = `The ${upstream} upstream is out of order (${String(cause)}).`;
      return [...found, { sentence, at: 'world' }];
    }
    default: {
      const sentence = failure instanceof Error ? failure.message : 'It failed.';
      return found.length > 0 ? found : [{ sentence, at: 'world' }];
    }
  }
}

function report(asked: readonly { target: Target; findings: readonly Finding[] }[]): Probed {
  return {
    wrong: worst(asked.flatMap(({ findings }) => findings.map(({ at }) => at))),
    lines: asked.flatMap(({ target: { subject }, findings }) => {
      const name = subject.upstream.padEnd(6);
      const { host } = new URL(subject.baseUrl);
      if (findings.length > 0) return findings.map(({ sentence }) => `${name}  ${sentence}`);
      const key = subject.ownKey ? 'and accepts the key' : 'and wants the key that callers bring';
      return [`${name}  ${host} answers ${key}.`];
    }),
  };
}

/** What a person can mend comes first. */
function worst(places: readonly Probed['wrong'][]): Probed['wrong'] {
  if (places.includes('configuration')) return 'configuration';
  return places.includes('world') ? 'world' : 'nothing';
}
