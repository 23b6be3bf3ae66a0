/** What is configured of one key's limit. */
export interface Rules {
  /** Requests per window; an announced limit takes its place. */
  readonly limit: number;
  readonly windowMs: number;
  /** How much longer than the window a completed request counts, to allow for different clocks. */
  readonly marginMs: number;
  /** For how long a slot counts if its request is not reported as ended; `null` if it counts until then. */
  readonly holdMs: number | null;
  /** For how long the latest slot of an owner counts that is not heard of, see `purge`; `null` for none. */
  readonly ghostMs: number | null;
}

/** The order of lanes: writes, then reads that a caller waits for, then refreshes, for which no caller waits. */
export type Lane = 'write' | 'interactive' | 'refresh';

/** The lanes that callers take turns in. */
export type TurnLane = Exclude<Lane, 'refresh'>;

/** A slot whose request is about to be sent, or is in flight. */
export interface HeldSlot {
  readonly id: string;
  /** The process that has it. */
  readonly owner: string;
  /** When it stops counting without a report of its owner; `null` for never. */
  until: number | null;
  readonly grantedAt: number;
  /** The number of its turn: later slots have greater ones. */
  readonly seq: number;
  /** Requests that the upstream can have counted when it responds to this one, itself included. */
  countable: number;
  /** The pause before it, see `Pause`. */
  readonly era: number;
  /** Takes long by its nature, as an upload does: it does not count as on the wire. */
  readonly lengthy?: true;
  /** Its time has expired, but its owner may only be suspended and send it later. */
  ghost?: true;
  /** What a store keeps with it. */
  flight?: unknown;
}

/** A slot whose request is completed, and counts for another window. */
export interface AnsweredSlot {
  readonly id: string;
  readonly owner: string;
  readonly until: number;
  readonly grantedAt: number;
  readonly endedAt: number;
  flight?: unknown;
}

/** Nothing is sent before `until`, since the upstream has refused a request for its rate limit. */
interface Pause {
  until: number | null;
  /** Refusals without an accepted request between them. */
  refusals: number;
  /** Counts the pauses: what left before the latest one says nothing about the time after it. */
  era: number;
}

/** How many requests are sent in parallel, see caution.ts. */
interface Caution {
  /** What is left of the window is not known at all. */
  blind: boolean;
  /** Whether a response has contained how much is left of the window. */
  remainingHeard: boolean;
  heardAt: number | null;
  coTenantAt: number | null;
  /** How many may be in flight, according to the responses since the last idle period. */
  abreast: number;
  /** When one more is sent although no response has arrived. */
  oneMoreAt: number | null;
  /** How many went so, in a row. */
  unanswered: number;
}

/** The order of callers, see turns.ts. */
export interface TurnState {
  /** TurnState so far. */
  seq: number;
  /** Writes since the last read that had its turn while reads waited. */
  writesInARow: number;
  /** The latest turn of each caller that still waits. */
  readonly served: Record<TurnLane, Readonly<Record<string, number>>>;
}

/**
 * All state that decides about one key's budget: plain data that can be serialized as JSON. Times are milliseconds
 * on the clock that the steps receive as `now`. Waiting requests are not part of it.
 */
export interface KeyBudget {
  /** Requests per window, as the upstream announces or as configured. */
  limit: number;
  /** The configured limit that `limit` was learnt against. */
  configured: number;
  held: HeldSlot[];
  /** The first to stop counting first. */
  answered: AnsweredSlot[];
  /** What others on the same key have spent, the first to stop counting first. */
  coTenants: { readonly until: number; readonly count: number }[];
  /** Until then half the limit is left alone, since it is not known what was spent before. */
  unknownUntil: number | null;
  readonly pause: Pause;
  readonly caution: Caution;
  /** Smoothed response time: for estimates only. */
  latencyMs: number;
  /** Refreshes that may go back to back, as of a moment. */
  readonly pace: { tokens: number; at: number };
  readonly turns: TurnState;
}

/** How many requests are sent in parallel before the first response, if others may use the key. */
export const FIRST_ABREAST = 2;

/** The budget of a key of which nothing is known. */
export function newBudget({ limit }: Rules, now: number): KeyBudget {
  return {
    limit,
    configured: limit,
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
      abreast: FIRST_ABREAST,
      oneMoreAt: null,
      unanswered: 0,
    },
    latencyMs: 200,
    pace: { tokens: refreshBurst(limit), at: now },
    turns: { seq: 0, writesInARow: 0, served: { write: {}, interactive: {} } },
  };
}

/** The same budget, to be played forward without changing this one. */
export function copyOf(b: KeyBudget): KeyBudget {
  return {
    ...b,
    held: b.held.map((slot) => ({ ...slot })),
    answered: [...b.answered],
    coTenants: [...b.coTenants],
    pause: { ...b.pause },
    caution: { ...b.caution },
    pace: { ...b.pace },
    turns: { ...b.turns, served: { ...b.turns.served } },
  };
}

/** Slots that refreshes leave to readers and writers, so that those find one. */
export function reserveOf(limit: number): number {
  return Math.min(limit - 1, Math.max(1, Math.round(limit / 15)));
}

/** How many refreshes may go back to back before they are spread over the window. */
export function refreshBurst(limit: number): number {
  return Math.max(1, Math.floor(limit / 6));
}
