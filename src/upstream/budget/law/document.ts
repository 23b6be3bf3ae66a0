import type { CallerClasses } from '../../../auth/caller-class.ts';

/** The configured limit of one key. */
export interface Rules {
  /** Requests per window; an announced limit takes its place. */
  readonly limit: number;
  readonly windowMs: number;
  /** Shares of the limit that are reserved, see `Reserves`; absent for none. */
  readonly reserves?: ReservedShares | undefined;
  /** The classes of callers; absent if there are none. */
  readonly classes?: CallerClasses | undefined;
  /** Number of requests per minute that jobs get although others wait, see `jobDueMs`; absent for none. */
  readonly jobsMinPerMinute?: number | undefined;
}

/** Shares of a limit, from 0 to 1. */
export interface ReservedShares {
  /** For writes. */
  readonly writes: number;
  /** For callers that have sent nothing in the window. */
  readonly newcomers: number;
}

/**
 * The order of lanes: writes, then reads that a caller waits for, then refreshes, for which no caller waits, then what
 * takes only slots that are left: the requests of jobs, and the reads of classes without weight.
 */
export type Lane = 'write' | 'interactive' | 'refresh' | 'bulk';

/** The lanes of requests that a caller waits for. */
export type TurnLane = Exclude<Lane, 'refresh' | 'bulk'>;

/** A slot whose request is about to be sent, or is in flight. */
export interface HeldSlot {
  readonly id: string;
  readonly grantedAt: number;
  /** Requests that the upstream can have counted when it responds to this one, itself included. */
  countable: number;
  /** The pause before it, see `Pause`. */
  readonly era: number;
  /** Always long, such as an upload: it does not count as in flight. */
  readonly lengthy?: true;
  /** The name of its caller in the turns; absent for refreshes. */
  readonly caller?: string;
  /** Granted in the lane `bulk`. */
  readonly bulk?: true;
}

/** A slot whose request is completed, and counts for another window. */
export interface AnsweredSlot {
  readonly id: string;
  readonly until: number;
  readonly grantedAt: number;
  /** See `HeldSlot`. */
  readonly caller?: string;
  readonly bulk?: true;
}

/** No request is sent before `until`, because the upstream has refused one by its rate limit. */
interface Pause {
  until: number | null;
  /** Number of refusals without an accepted request between them. */
  refusals: number;
  /** Number of pauses: a request sent before the latest pause reveals nothing about the time after it. */
  era: number;
}

/** How many requests are sent in parallel, see caution.ts. */
interface Caution {
  /** True if the remaining requests of the window are unknown. */
  blind: boolean;
  /** Whether a response has contained the remaining requests of the window. */
  remainingHeard: boolean;
  heardAt: number | null;
  coTenantAt: number | null;
  /** Maximum number of requests in flight, from the responses since the last idle period. */
  abreast: number;
  /** When one more request is sent although no response has arrived. */
  oneMoreAt: number | null;
  /** Number of requests sent this way in a row. */
  unanswered: number;
}

/** The turns of jobs, as of the latest. */
interface JobTurns {
  /** When the minimum rate gives jobs the next one. */
  readonly dueAt: number;
  readonly others: UseOfOthers;
}

/** How many slots all others have used. */
export interface UseOfOthers {
  /** In a window, smoothed. */
  readonly expected: number;
  /** When the latest of these windows ended, at a turn of a job. */
  readonly at: number;
  /** The variance of the number that the times of the slots suggest, at the latest turn of a job. */
  readonly variance: number;
}

/**
 * All state that decides about one key's budget: plain data that can be serialized as JSON. Times are milliseconds
 * on the clock that the steps receive as `now`. Waiting requests are not part of it.
 */
export interface KeyBudget {
  /** Requests per window, as the upstream announces or as configured. */
  limit: number;
  held: HeldSlot[];
  /** In the order in which they stop counting. */
  answered: AnsweredSlot[];
  /** Requests of co-tenants, in the order in which they stop counting. */
  coTenants: { readonly until: number; readonly count: number }[];
  /** Until then, half of the limit is not used, because earlier requests are unknown. */
  unknownUntil: number | null;
  readonly pause: Pause;
  readonly caution: Caution;
  /** Smoothed response time, for estimates only. */
  latencyMs: number;
  /** When the upstream's own window begins again, by the latest Reset header: for display only. */
  upstreamResetAt?: number;
  /** Number of refreshes that may follow each other immediately, as of a given time. */
  readonly pace: { tokens: number; at: number };
  /** Number of granted slots so far. */
  seq: number;
  /** Absent before the first slot of a job. */
  jobs?: JobTurns;
}

/** The budget of an unknown key. */
export function newBudget({ limit }: Rules, now: number): KeyBudget {
  return {
    limit,
    held: [],
    answered: [],
    coTenants: [],
    unknownUntil: null,
    pause: { until: null, refusals: 0, era: 0 },
    caution: {
      blind: true,
      remainingHeard: false,
      heardAt: null,
      coTenantAt: null,
      abreast: 1,
      oneMoreAt: null,
      unanswered: 0,
    },
    latencyMs: 200,
    pace: { tokens: limit, at: now },
    seq: 0,
  };
}

/** A copy of the budget, for a simulation that does not change this one. */
export function copyOf(b: KeyBudget): KeyBudget {
  return {
    ...b,
    held: b.held.map((slot) => ({ ...slot })),
    answered: [...b.answered],
    coTenants: [...b.coTenants],
    pause: { ...b.pause },
    caution: { ...b.caution },
    pace: { ...b.pace },
  };
}
