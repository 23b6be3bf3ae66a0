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
  what: 'Other gateways on this Redis have another REDIS_SECRET, so nothing is sent from here.',
  advice: 'Give all the same secret, or this one a REDIS_PREFIX of its own.',
};

const unready: Readonly<Record<ConsoleState['readiness']['reasons'][number]['reason'], Words>> = {
  draining: {
    what: 'It is shutting down.',
    advice: 'What runs is finished, nothing new should come: send requests elsewhere.',
  },
  'redis-unreachable': {
    what: 'Redis has not answered yet.',
    advice: 'Budgets are shared over it, so nothing is sent: check REDIS_URL, and that Redis runs.',
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
    what: `${title} refused a request for its rate limit: nothing is sent for ${timeToCome(ms ?? 0)}.`,
    advice: 'Answers in the cache are served. Look for co-tenants: who else uses this key?',
  }),
  'limit-too-high': (title, _ms, _slots, { announced, configured, upstream }) => ({
    what: `${title} announces a limit of ${announced} requests; the setting says ${configured}.`,
    advice: `The gateway keeps to ${announced}. Set ${upstream}_RATE_LIMIT=${announced}.`,
  }),
  'upstream-unreachable': (title) => ({
    what: `${title} does not answer.`,
    advice:
      'What is kept is served as stale, and it is tried again by itself. Check the way to it.',
  }),
  'redis-unreachable': () => ({
    what: 'Redis does not answer, so nothing is sent.',
    advice: 'Answers in the cache are served. Check that Redis runs, and the way to it.',
  }),
  'redis-permissions': () => ({
    what: 'The user of Redis lacks permissions, which the log and /readyz name.',
    advice: 'Grant them with ACL SETUSER. Without one of the ledger’s, nothing is sent.',
  }),
  'secret-differs': () => secretDiffers,
  'foreign-secret': () => ({
    what: 'A gateway with another REDIS_SECRET uses this Redis. It is kept out and sends nothing.',
    advice: 'Give it the same secret, or a REDIS_PREFIX of its own.',
  }),
  'redis-forgets': () => ({
    what: 'Redis loses its memory again and again, so nothing is sent.',
    advice: 'Give it enough maxmemory, and the maxmemory-policy volatile-lru; see what empties it.',
  }),
  quarantine: (_, ms) => ({
    what: `Redis has no memory of what was spent: nothing is sent${ms === null ? ' for a while' : ` for ${timeToCome(ms)}`}.`,
    advice: 'It passes by itself. If it happens often, Redis restarts or is emptied.',
  }),
  'lease-lost': () => ({
    what: 'The cache lease has run out: what is kept is served as stale.',
    advice: 'It is renewed as soon as Redis answers again.',
  }),
  'ghost-slots': (title, ms, slots = 1) => ({
    what: `${title} has ${slots === 1 ? 'a slot' : `${slots} slots`} less: other gateways ended without a word.`,
    advice: `A stopped process may still send a request. Each slot comes back within ten minutes, the last in ${timeToCome(ms ?? 0)}. Look for gateways that crash.`,
  }),
};
