import type { UpstreamName } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { keptCaller } from '../callers.ts';
import type { KeyedEnd, KeyedWrite } from '../events.ts';
import { Counts, HOUR } from './counts.ts';
import type { EventLog } from './event-log.ts';

/** Maximum number of unknown outcomes. */
const UNKNOWN_KEPT = 20;

/** Ends of writes with a key, in the order in which they are counted; then those without one. */
const KEYED: readonly KeyedEnd[] = [
  'executed',
  'replayed',
  'reconciled',
  'unknown',
  'rejected',
  'conflict_in_use',
  'reused',
];
const RECONCILED_WITHOUT_KEY = KEYED.length;
const UNKNOWN_WITHOUT_KEY = RECONCILED_WITHOUT_KEY + 1;
const RESENT = UNKNOWN_WITHOUT_KEY + 1;
const FIELDS = RESENT + 1;

/** Writes with idempotency keys or lost responses in the last hour. */
export interface WriteHour {
  /** With a key, by their end. */
  readonly keyed: Readonly<Record<KeyedEnd, number>>;
  /** Without a key, if the response was lost. */
  readonly unkeyed: Readonly<Record<'reconciled' | 'unknown', number>>;
  /** Writes sent a second time, because the first request had no effect. */
  readonly resent: number;
}

/** A write whose outcome was unknown when it ended. */
export interface UnknownOutcome extends Pick<KeyedWrite, 'mutation' | 'key' | 'caller'> {
  /** Of its caller; absent in the default class. */
  readonly callerClass?: string | undefined;
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
  readonly upstream: UpstreamName;
  readonly requestId: string | null;
  /** See `KeyedWrite`. */
  readonly settlesAt: number | null;
  /** How a later call with the same key ended, and when; `null` while there is none. */
  readonly later: { readonly outcome: KnownEnd; readonly at: number } | null;
}

/** An end of a call after which the outcome of its write is known. */
type KnownEnd = Exclude<KeyedEnd, 'unknown' | 'conflict_in_use' | 'reused'>;

/** An hour of writes with idempotency keys or lost responses, and the last unknown outcomes. In bounded memory. */
export class WriteHistory {
  readonly #clock: Clock;
  readonly #log: EventLog;
  readonly #counts: Readonly<Record<UpstreamName, Counts>>;
  /** The latest last. */
  #unknown: readonly UnknownOutcome[] = [];

  /** Writes what people should know into `log`. */
  constructor(clock: Clock, log: EventLog) {
    this.#clock = clock;
    this.#log = log;
    const now = clock.now();
    const counts = (): Counts => new Counts(FIELDS, HOUR, now);
    this.#counts = { LINKS: counts(), MARKET: counts() };
  }

  /** A write has ended. */
  ended(write: KeyedWrite): void {
    const { key, outcome, resent, upstream } = write;
    const field = key === null ? unkeyedField(outcome) : KEYED.indexOf(outcome);
    this.#counts[upstream].add(this.#clock.now(), [
      [field, 1],
      [RESENT, Number(resent)],
    ]);
    this.#tell(write);
    // Another call of the key says nothing of its outcome.
    if (outcome === 'conflict_in_use' || outcome === 'reused') return;
    const at = this.#clock.wall();
    if (outcome === 'unknown') this.#add(write, at);
    else if (key !== null) this.#knownLater(key, { outcome, at });
  }

  /** The last hour of one upstream; `null` if nothing was counted. */
  hourOf(upstream: UpstreamName): WriteHour | null {
    const sums = this.#counts[upstream].sums(this.#clock.now());
    if (sums.every((count) => count === 0)) return null;
    const keyed = Object.fromEntries(KEYED.map((outcome, field) => [outcome, sums[field] ?? 0]));
    return {
      keyed: keyed as WriteHour['keyed'],
      unkeyed: {
        reconciled: sums[RECONCILED_WITHOUT_KEY] ?? 0,
        unknown: sums[UNKNOWN_WITHOUT_KEY] ?? 0,
      },
      resent: sums[RESENT] ?? 0,
    };
  }

  /** The last unknown outcomes, the latest first; at most 20. */
  get unknown(): readonly UnknownOutcome[] {
    return this.#unknown.toReversed();
  }

  #knownLater(key: string, later: NonNullable<UnknownOutcome['later']>): void {
    this.#unknown = this.#unknown.map((each) =>
      each.key === key && each.later === null ? { ...each, later } : each,
    );
  }

  #tell({ asker, caller, mutation, outcome, resent }: KeyedWrite): void {
    const requestId = asker?.requestId ?? null;
    const whom = { caller: keptCaller(caller, asker?.callerClass), requestId };
    const tell = (kind: Parameters<EventLog['add']>[0], text: string, cause: string | null): void =>
      this.#log.add(kind, text, cause, whom);
    if (resent) tell('sent-again', `Sent again: ${mutation}`, 'the first request had no effect');
    if (outcome === 'reconciled') {
      tell('reconciled', `Reconciled ${mutation}`, 'found after a lost response');
    } else if (outcome === 'unknown') {
      tell('outcome-unknown', `Outcome unknown: ${mutation}`, null);
    } else if (outcome === 'reused') {
      tell('key-reused', `Idempotency key reused: ${mutation}`, 'with other arguments');
    }
  }

  #add({ asker, caller, key, mutation, settlesAt, upstream }: KeyedWrite, at: number): void {
    const write: UnknownOutcome = {
      at,
      upstream,
      mutation,
      key,
      ...(keptCaller(caller, asker?.callerClass) ?? { caller: null }),
      requestId: asker?.requestId ?? null,
      settlesAt,
      later: null,
    };
    // Of a key that is used again, only the latest.
    const others = this.#unknown.filter((each) => key === null || each.key !== key);
    this.#unknown = [...others, write].slice(-UNKNOWN_KEPT);
  }
}

function unkeyedField(outcome: KeyedEnd): number {
  return outcome === 'reconciled' ? RECONCILED_WITHOUT_KEY : UNKNOWN_WITHOUT_KEY;
}
