import type { Effects, Surroundings } from '../../../redis/document-step.ts';
import type { SwapMoment } from '../../../redis/shared-document.ts';
import type { Stamp } from '../../request.ts';
import type { SlotRecord } from '../budget.ts';
import { classOf } from '../law/callers/caller-names.ts';
import { type CallerWaits, countWaiting, type WaitingCounts } from '../law/callers/turns.ts';
import { claimSlots, type WantedSlot } from '../law/claim.ts';
import type { AnsweredSlot, KeyBudget, Lane, Rules, TurnLane } from '../law/document.ts';
import { roomOf } from '../law/slots.ts';
import type { QueuedWant } from '../store.ts';
import { bidText } from './texts.ts';

/** A read that was sent with a slot, as recorded with the slot. */
interface Flight {
  /** Identifies the read. */
  readonly key: string;
  /** When it was granted, on the clock shared by replicas. */
  readonly at: number;
  /** The number of the latest write that its response certainly includes. */
  readonly asOf: number;
  /** When its response was stored for all replicas, on that clock; absent if it was not. */
  readonly keptAt?: number;
}

/** A read to find among those of other replicas. */
interface Sought {
  readonly key: string;
  /** Tags that invalidate a response. */
  readonly tags: readonly string[];
  /** A response younger than this is accepted, in milliseconds... */
  readonly ttlMs: number;
  /** ... if it was requested after this, on the clock shared by replicas. */
  readonly newer: number;
}

/** A request that wants a slot, as other replicas see it. */
export interface SharedWant extends WantedSlot {
  /** The read that another replica may be sending; absent if this one needs its own request. */
  readonly sought?: Sought;
  /** The read as recorded for other replicas when it is sent. */
  readonly key?: string;
  /** For a write: all tags that it can touch. */
  readonly touches?: readonly string[];
  /** For a write: see `Sharing`. */
  readonly row?: string;
  readonly lock?: string;
  readonly record?: SlotRecord;
}

/**
 * The result for one request: a permit, the response of another replica, a record that another replica has taken over,
 * or nothing yet.
 */
type SharedVerdict = 'go' | 'join' | 'landed' | 'lost' | '';

/** Wants that got no slot in this claim, because another replica has their record, or has locked their row. */
export type Barred = Map<string, 'lost' | 'excluded'>;

/** The result of a claim. */
export interface SharedClaim {
  /** For each want. */
  readonly verdicts: readonly SharedVerdict[];
  /** Milliseconds until the next claim for the others. */
  readonly stopMs: number;
}

/** The input of a claim. */
interface Claiming {
  readonly wants: readonly SharedWant[];
  /** By the id of the want; filled when Redis has refused the claim because of them. */
  readonly barred: Barred;
  /** All requests that wait on this replica. */
  readonly waits: WaitingCounts;
  /** The requests that wait on the others. */
  readonly bids: readonly WaitingCounts[];
  /** The replica. */
  readonly self: string;
  readonly rules: Rules;
  /** Time without requests after a loss of data, in milliseconds. */
  readonly holdMs: number;
  /** Time after which the intent of an unreported write counts as the write, in milliseconds. */
  readonly intentMs: number;
  readonly generations: KnownWrites;
}

/** The known writes of all replicas: see `SharedGenerations`. */
export interface KnownWrites {
  /** The stamp for a response requested with a permit of this claim. */
  stampOf(claim: SwapMoment): Stamp;
  /** Whether a response that includes all writes up to a number is valid for some tags. */
  shows(tags: readonly string[], asOf: number): boolean;
}

/** A bid counts for this time beyond its next renewal, in milliseconds. */
const BID_MS = 400;
/** Maximum time without a new claim, in milliseconds. */
const LONGEST_STOP_MS = 1000;
/** Maximum number of listed slots of co-tenants that are freed together: an API can announce any number. */
const MOST_TOLD = 1000;
/** A bound for caution, because messages that end it can be lost. */
const CAUTION_MS = 100;
/** How often to check whether another replica has unlocked a row. */
const LOCKED_MS = 250;

/** Claims permits for a replica. A read that another replica is sending, or has completed, takes none. */
export function claimShared(
  b: KeyBudget,
  around: Surroundings,
  effects: Effects,
  { barred, bids, generations, holdMs, intentMs, rules, self, waits, wants }: Claiming,
): SharedClaim {
  const found = wants.map(({ sought }) => sought && seek(b, sought, around, generations));
  const isOpen = (want: SharedWant, at: number): boolean => !found[at] && !barred.has(want.id);
  const open = wants.filter(isOpen);
  const left = without(
    waits,
    wants.filter((want, at) => !isOpen(want, at)),
  );
  const quarantineMs = holdMs - around.ageMs;
  const flights = open.map((want) => flying(want, around));
  const claimed =
    quarantineMs > 0
      ? { granted: [], waitMs: quarantineMs, why: 'quarantine' }
      : claimSlots(b, rules, around.now, flights, {
          owner: self,
          ...roomOf(b, (owner) => owner === self || around.others.has(owner)),
          waits: left,
          bids,
        });
  const granted = new Set(open.filter((_, at) => claimed.granted[at]));
  for (const { id, lengthy, lock, record, row, touches = [] } of granted) {
    const ms = lengthy ? holdMs : intentMs;
    if (touches.length > 0 || row !== undefined) {
      const writes = {
        ...(row === undefined ? {} : { row }),
        ...(lock === undefined ? {} : { lock }),
      };
      effects.intents.set(id, { ms, tags: touches, ...writes });
    }
    if (record) {
      const { keepMs, name, sent, textAt, token } = record;
      const text = textAt(around.shared);
      effects.records.set(id, { name, token, sent, text, ms: Math.ceil(keepMs) });
    }
  }
  effects.refused.push(({ excluded, lost }) => {
    for (const id of excluded) barred.set(id, 'excluded');
    for (const id of lost) barred.set(id, 'lost');
  });
  const isExcluded = wants.some(({ id }) => barred.get(id) === 'excluded');
  const most = isExcluded ? LOCKED_MS : claimed.why === 'caution' ? CAUTION_MS : LONGEST_STOP_MS;
  const stopMs = Math.max(1, Math.ceil(Math.min(claimed.waitMs ?? LONGEST_STOP_MS, most)));
  effects.inCompany = true;
  const bid = without(left, [...granted]);
  effects.bid = countWaiting(bid) === 0 ? null : { text: bidText(bid), ms: stopMs + BID_MS };
  const verdicts = wants.map((want, at) => {
    if (barred.get(want.id) === 'lost') return 'lost';
    return found[at] ?? (granted.has(want) ? 'go' : '');
  });
  return { verdicts, stopMs };
}

/** The result of a claim during a shutdown: no permit, and no bid. */
export function claimNothing(effects: Effects, wants: readonly SharedWant[]): SharedClaim {
  effects.bid = null;
  return { verdicts: wants.map(() => ''), stopMs: LONGEST_STOP_MS };
}

/** Whether another replica is sending the same request (`join`), or a suitable response was stored (`landed`). */
function seek(
  b: KeyBudget,
  sought: Sought,
  { others, shared }: Surroundings,
  generations: KnownWrites,
): 'join' | 'landed' | undefined {
  const serves = (flight: unknown): flight is Flight =>
    isFlight(flight) &&
    flight.key === sought.key &&
    flight.at > sought.newer &&
    generations.shows(sought.tags, flight.asOf);
  if (b.held.some(({ flight, owner }) => others.has(owner) && serves(flight))) return 'join';
  const isLanded = ({ flight }: AnsweredSlot): boolean =>
    serves(flight) && flight.keptAt !== undefined && shared - flight.keptAt < sought.ttlMs;
  return b.answered.some(isLanded) ? 'landed' : undefined;
}

function isFlight(value: unknown): value is Flight {
  return typeof value === 'object' && value !== null && 'key' in value && 'asOf' in value;
}

/** A want, as recorded with its slot for other replicas. */
function flying({ key, ...want }: SharedWant, { n, shared }: Surroundings): WantedSlot {
  const flight: Flight | undefined = key === undefined ? undefined : { key, at: shared, asOf: n };
  return { ...want, ...(flight && { flight }) };
}

/** The waiting requests without some of the wants. */
function without(waits: WaitingCounts, gone: readonly WantedSlot[]): WaitingCounts {
  if (gone.length === 0) return waits;
  const less = (lane: TurnLane): CallerWaits[] => {
    const counts = waits[lane].map(([caller, count, since]) => ({ caller, count, since }));
    for (const want of gone) {
      if (want.lane !== lane) continue;
      const of = counts.find(({ caller, count }) => caller === want.caller && count > 0);
      if (of) of.count -= 1;
    }
    return counts.flatMap(({ caller, count, since }) =>
      count > 0 ? [[caller, count, since] as const] : [],
    );
  };
  const inLane = (lane: Lane): number => gone.filter((want) => want.lane === lane).length;
  return {
    write: less('write'),
    interactive: less('interactive'),
    refreshes: Math.max(0, waits.refreshes - inLane('refresh')),
    // Evaluates all of them.
    get oldestMs() {
      return waits.oldestMs;
    },
    bulk: waits.bulk.flatMap(([name, count]) => {
      const isGone = ({ caller, lane }: WantedSlot): boolean =>
        lane === 'bulk' && classOf(caller) === name;
      const left = count - gone.filter(isGone).length;
      return left > 0 ? [[name, left] as const] : [];
    }),
  };
}

/** A request in the form of a claim. */
export function wantOf({ caller, isDue, request, rushPast }: QueuedWant, id: string): SharedWant {
  const { lane, lengthy, sharing } = request;
  const { key, lock, newerThan, record, row, tags = [], ttlMs = 0 } = sharing ?? {};
  const newer = newerThan?.() ?? 0;
  const isSought = key !== undefined && newer !== Infinity;
  return {
    id,
    lane,
    caller,
    ...(key === undefined ? {} : { key }),
    ...(isSought ? { sought: { key, tags, ttlMs, newer } } : {}),
    ...(key === undefined ? { touches: tags } : {}),
    ...(row === undefined ? {} : { row }),
    ...(lock === undefined ? {} : { lock }),
    ...(record && { record }),
    ...(lengthy ? { lengthy } : {}),
    ...(rushPast === undefined ? {} : { rushPast }),
    ...(isDue ? { isDue } : {}),
  };
}

/** When each slot of other programs stops counting; infinite for those in flight. */
export function foreignSlots({ answered, coTenants, held }: KeyBudget, self: string): number[] {
  return [
    ...held.filter(({ owner }) => owner !== self).map(() => Infinity),
    ...answered.flatMap(({ owner, until }) => (owner === self ? [] : until)),
    ...coTenants.flatMap(({ count, until }) => Array(Math.min(count, MOST_TOLD)).fill(until)),
  ];
}
