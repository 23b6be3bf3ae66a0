import type { Credential } from '../auth/credential.ts';
import { GatewayError, type UpstreamName, upstreamTitle } from '../errors.ts';
import { account } from '../links/account/account.ts';
import { seller } from '../market/seller.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Client } from '../upstream/client.ts';
import {
  type FaultWatch,
  type Finding,
  findingsOf,
  type LastResult,
  type Subject,
} from '../upstream/diagnosis.ts';
import { Receipt } from '../upstream/receipt.ts';
import type { Read } from '../upstream/request.ts';
import type { Witnessed } from '../upstream/wire/exchange.ts';

/** The result of a probe. */
export interface Probed {
  /** A line or more for each upstream. */
  readonly lines: readonly string[];
  /** `configuration` if a setting can fix any of the problems. */
  readonly wrong: 'nothing' | Finding['at'];
}

interface ProbeTerms {
  readonly clients: readonly Client[];
  /** The latest results of each client. */
  readonly watches: readonly FaultWatch[];
  readonly credentials: Readonly<Record<UpstreamName, Credential>>;
  readonly clock: Clock;
  /** How long a probe may wait for its turn under the rate limit, in milliseconds. */
  readonly maxWaitMs: number;
}

/** The request to each upstream: the owner of the key. */
const questions: Readonly<Record<UpstreamName, Read<unknown>>> = { LINKS: account, MARKET: seller };

/**
 * Asks each upstream who its key belongs to, and says what is wrong. 1 upstream call each, under the rate limit; none
 * where it is spent or the circuit breaker is open, and then the latest result is told in its place.
 */
export async function probeUpstreams(terms: ProbeTerms): Promise<Probed> {
  const asked = await Promise.all(
    terms.watches.map(async (watch) => {
      return { subject: watch.subject, findings: await ask(watch, terms) };
    }),
  );
  return {
    wrong: worst(asked.flatMap(({ findings }) => findings.map(({ at }) => at))),
    lines: asked.flatMap(({ subject, findings }) => {
      const name = subject.upstream.padEnd(6);
      const { host } = new URL(subject.baseUrl);
      if (findings.length > 0) return findings.map(({ sentence }) => `${name}  ${sentence}`);
      const key = subject.ownKey ? 'and accepts the key' : 'and expects the keys of callers';
      return [`${name}  ${host} answers ${key}.`];
    }),
  };
}

/** Problems that a person can fix come first. */
function worst(places: readonly Probed['wrong'][]): Probed['wrong'] {
  if (places.includes('configuration')) return 'configuration';
  return places.includes('world') ? 'world' : 'nothing';
}

/** Sends a request that must succeed to one upstream, and returns the problems. */
async function ask(
  { last, subject }: FaultWatch,
  { clients, clock, credentials, maxWaitMs }: ProbeTerms,
): Promise<Finding[]> {
  const { upstream } = subject;
  const client = clients.find((each) => each.upstream === upstream);
  let witnessed: Witnessed | null = null;
  const question = {
    ...questions[upstream],
    witness: (seen: Witnessed): void => {
      witnessed = seen;
    },
  };
  const { signal } = new AbortController();
  const caller = { name: 'probe', receipt: new Receipt(clock), maxWaitMs, signal };
  try {
    // Sent as the read of a secret, so that it is sent exactly once.
    await client?.readSecret(question, { caller, credential: credentials[upstream] });
    return witnessed ? findingsOf(witnessed, subject, clock.wall()) : [];
  } catch (error) {
    if (witnessed) return failed(error, witnessed, { subject, wallMs: clock.wall() });
    return notSent(error, last, clock.now());
  }
}

/** No request was sent: the reason, and the latest result. */
function notSent(error: unknown, last: LastResult | null, now: number): Finding[] {
  const reason = error instanceof Error ? error.message : 'It failed.';
  if (!last) return [{ sentence: reason, at: 'world' }];
  const ago = `${Math.round((now - last.at) / 1000)} s ago`;
  const shown = last.findings.length > 0 ? last.findings : [GOOD];
  return [
    { sentence: `No request was sent. ${reason}`, at: 'world' },
    ...shown.map(
      ({ at, sentence }): Finding => ({ at, sentence: `The latest result, ${ago}: ${sentence}` }),
    ),
  ];
}

const GOOD: Finding = { sentence: 'The response was valid.', at: 'world' };

/** The problem of an upstream that has not returned the owner of the key. */
function failed(
  failure: unknown,
  witnessed: Witnessed,
  { subject, wallMs }: { readonly subject: Subject; readonly wallMs: number },
): Finding[] {
  const found = findingsOf(witnessed, subject, wallMs);
  if (found.some(({ at }) => at === 'configuration')) return found;
  const { ownKey, upstream } = subject;
  const code = failure instanceof GatewayError ? failure.code : 'INTERNAL_SERVER_ERROR';
  // An API that is in order refuses a request without a key.
  if (code === 'UPSTREAM_UNAUTHENTICATED' && !ownKey) return found;
  if (code === 'UPSTREAM_FORBIDDEN' || code === 'UPSTREAM_REJECTED') {
    return [
      ...found,
      {
        sentence: `${upstreamTitle[upstream]} does not return the account of ${upstream}_API_KEY (HTTP ${witnessed.answer?.status}). Check ${upstream}_BASE_URL, and the permissions of the key.`,
        at: 'configuration',
      },
    ];
  }
  if (found.length > 0) return found;
  return [{ sentence: failure instanceof Error ? failure.message : 'It failed.', at: 'world' }];
}
