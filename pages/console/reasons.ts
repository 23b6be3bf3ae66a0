import type { ConsoleState } from '../../src/console/console-state.ts';
import { timeToCome } from './words.ts';

type Degradation = ConsoleState['readiness']['degraded'][number];

/** A reason why not all is well, and what to do about it. */
export interface ReasonInWords {
  readonly key: string;
  readonly grave: boolean;
  readonly what: string;
  readonly advice: string;
}

/** Why the gateway is not ready, or degraded, the gravest first; empty where all is well. */
export function reasonsInWords({ readiness, upstreams }: ConsoleState): ReasonInWords[] {
  const titleOf = (degradation: Degradation): string =>
    upstreams.find(({ upstream }) => upstream === degradation.upstream)?.title ?? 'An upstream';
  return [
    ...readiness.reasons.map(({ reason }) => ({ key: reason, grave: true, ...unready[reason] })),
    ...readiness.degraded
      // It stands among the reasons already.
      .filter(({ reason }) => !readiness.reasons.some((grave) => grave.reason === reason))
      .map((degradation) => ({
        key: `${degradation.reason} ${degradation.upstream ?? ''}`,
        grave: false,
        ...degraded[degradation.reason](
          titleOf(degradation),
          degradation.retryAfterMs ?? null,
          degradation.slots,
          degradation,
        ),
      })),
  ];
}

type Words = Pick<ReasonInWords, 'what' | 'advice'>;

const secretDiffers: Words = {
  what: 'Other gateways on this Redis have another REDIS_SECRET. This one sends no requests.',
  advice: 'Give all of them the same secret, or this one its own REDIS_PREFIX.',
};

const unready: Readonly<Record<ConsoleState['readiness']['reasons'][number]['reason'], Words>> = {
  draining: {
    what: 'The gateway is shutting down.',
    advice: 'Running operations finish. Send new requests elsewhere.',
  },
  'redis-unreachable': {
    what: 'Redis has not answered yet. No requests are sent.',
    advice: 'Check REDIS_URL, and that Redis runs.',
  },
  'secret-differs': secretDiffers,
};

const degraded: Readonly<
  Record<
    Degradation['reason'],
    (
      title: string,
      retryAfterMs: number | null,
      slots: number | undefined,
      all: Degradation,
    ) => Words
  >
> = {
  'budget-paused': (title, ms) => ({
    what: `${title} refused a request for its rate limit. No requests are sent for ${timeToCome(ms ?? 0)}.`,
    advice: 'Cached answers are served. Check whether co-tenants use the same key.',
  }),
  'limit-too-high': (title, _ms, _slots, { announced, configured, upstream }) => ({
    what: `${title} announces a limit of ${announced} requests; the setting says ${configured}.`,
    advice: `The gateway keeps to ${announced}. Set ${upstream}_RATE_LIMIT=${announced}.`,
  }),
  'upstream-unreachable': (title) => ({
    what: `${title} fails.`,
    advice:
      'Cached answers are served as stale. The gateway tries again by itself. The cause is on the card of the API.',
  }),
  'redis-unreachable': () => ({
    what: 'Redis does not answer. No requests are sent.',
    advice: 'Cached answers are served. Check that Redis runs and can be reached.',
  }),
  'redis-permissions': () => ({
    what: 'The Redis user lacks permissions. The log and /readyz name them.',
    advice: 'Grant them with ACL SETUSER. Without those of the ledger no requests are sent.',
  }),
  'secret-differs': () => secretDiffers,
  'foreign-secret': () => ({
    what: 'A gateway with another REDIS_SECRET uses this Redis. It is kept out and sends no requests.',
    advice: 'Give it the same secret, or its own REDIS_PREFIX.',
  }),
  'redis-forgets': () => ({
    what: 'Redis loses its memory repeatedly. No requests are sent.',
    advice: 'Raise maxmemory, set maxmemory-policy to volatile-lru, and find out what empties it.',
  }),
  quarantine: (_, ms) => ({
    what: `Redis does not know what was spent. No requests are sent${ms === null ? ' for a while' : ` for ${timeToCome(ms)}`}.`,
    advice: 'This ends by itself. If it happens often, Redis restarts or is emptied.',
  }),
  'lease-lost': () => ({
    what: 'The cache lease has expired. Cached answers are served as stale.',
    advice: 'It is renewed as soon as Redis answers again.',
  }),
  'ghost-slots': (title, ms, slots = 1) => ({
    what: `${title} has ${slots === 1 ? 'a slot' : `${slots} slots`} less: other gateways ended without releasing them.`,
    advice: `A stopped process may still send a request. Each slot returns within ten minutes, the last in ${timeToCome(ms ?? 0)}. Look for gateways that crash.`,
  }),
};
