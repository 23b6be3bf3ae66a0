import type { ConsoleState } from '../../src/console/console-state.ts';
import { inTime, timeOfDay } from '../words.ts';

type Degradation = ConsoleState['readiness']['degraded'][number];

/** A reason why not all is well, and what to do about it. */
export interface ReasonInWords {
  readonly key: string;
  readonly grave: boolean;
  readonly what: string;
  readonly advice: string;
  /** The section with details. */
  readonly docs: string;
}

/** Why the gateway is not ready, or degraded, the gravest first; empty where all is well. */
export function reasonsInWords({ readiness, upstreams }: ConsoleState): ReasonInWords[] {
  const titleOf = (degradation: Degradation): string =>
    upstreams.find(({ upstream }) => upstream === degradation.upstream)?.title ?? 'An upstream';
  return [
    ...readiness.reasons.map(({ reason }) => ({
      key: reason,
      grave: true,
      docs: docsOf(reason),
      ...unready[reason],
    })),
    ...readiness.degraded.map((degradation) => ({
      key: `${degradation.reason} ${degradation.upstream ?? degradation.setting ?? ''}`,
      grave: false,
      docs: docsOf(degradation.reason),
      ...degraded[degradation.reason](titleOf(degradation), degradation),
    })),
  ];
}

/** Sections of their own; those of the others are the rows of the probe. */
const sections: Readonly<Record<string, string>> = {
  'budget-paused': 'tuning-the-budget',
  'key-rejected': 'a-rejected-key',
  'limit-too-high': 'tuning-the-budget',
  'state-not-saved': 'idempotency-keys',
  'upstream-fails': 'an-upstream-that-does-not-respond',
  'upstream-unreachable': 'an-upstream-that-does-not-respond',
};

function docsOf(reason: string): string {
  return `docs/operations.md#${sections[reason] ?? 'probes'}`;
}

type Words = Pick<ReasonInWords, 'what' | 'advice'>;

/** The title of an API inside a sentence. */
const inside = (title: string): string => title.charAt(0).toLowerCase() + title.slice(1);

const failing = (title: string, { cause, since = '' }: Degradation): Words => ({
  what: `Requests to ${inside(title)} have failed since ${timeOfDay(Date.parse(since))}, the latest: ${cause}.`,
  advice:
    'Cached responses are served as stale. The gateway retries automatically. check-config --probe names the setting to correct, if there is one.',
});

const unready: Readonly<Record<ConsoleState['readiness']['reasons'][number]['reason'], Words>> = {
  draining: {
    what: 'The gateway is shutting down.',
    advice: 'Running operations are completed. Send new requests to other processes.',
  },
};

const degraded: Readonly<Record<Degradation['reason'], (title: string, of: Degradation) => Words>> =
  {
    'budget-paused': (title, { retryAfterMs = 0 }) => ({
      what: `${title} refused a request because of its rate limit. Requests to it resume ${inTime(retryAfterMs)}.`,
      advice:
        'Cached responses are served. Check whether other programs (co-tenants) use the same key.',
    }),
    'file-unusable': (_title, { setting }) => ({
      what: `The file in ${setting} cannot be used. Its previous content stays in use.`,
      advice: 'The log has the reason. Correct the file; it is read again at once.',
    }),
    'key-rejected': (title, { since = '', upstream }) => ({
      what: `${title} has rejected ${upstream}_API_KEY since ${timeOfDay(Date.parse(since))}.`,
      advice: `Cached responses are served until their ttl expires. Write a valid key into the file in ${upstream}_API_KEY_FILE, or restart with one.`,
    }),
    'limit-too-high': (title, { announced, configured, upstream }) => ({
      what: `${title} announces a limit of ${announced} requests; the configured limit is ${configured}.`,
      advice: `The gateway uses ${announced}. Set ${upstream}_RATE_LIMIT=${announced}.`,
    }),
    'state-not-saved': () => ({
      what: 'The state cannot be saved: idempotency keys, jobs, usage and the cache.',
      advice:
        'The log has the reason. Make STATE_DIR writable, free space on its disk, or start PostgreSQL.',
    }),
    'upstream-fails': failing,
    'upstream-unreachable': failing,
  };
