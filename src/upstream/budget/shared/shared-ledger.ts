import { RedisUnavailable } from '../../../redis/failures.ts';
import type { Replica } from '../../../redis/replica.ts';
import {
  type Changed,
  type DocumentStep,
  type Effects,
  SharedDocument,
  type Surroundings,
} from '../../../redis/shared-document.ts';
import { holdMs, type ProtocolTimes } from '../../../redis/times.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { Feedback } from '../../wire/rate-limit-headers.ts';
import { claimSlots, type WantedSlot } from '../law/claim.ts';
import { type KeyBudget, newBudget, type Rules } from '../law/document.ts';
import { cancelSlot, endSlot, renewSlot } from '../law/ended.ts';
import { purge, used } from '../law/slots.ts';
import { type CallerWaits, countWaiting, type WaitingCounts } from '../law/turns.ts';
import { bidText, readBid } from './bids.ts';
import { budgetForm } from './document-form.ts';
import { type Flight, type Sought, seek } from './flights.ts';

/** A request that wants a slot, as other replicas see it. */
export interface SharedWant extends WantedSlot {
  /** The read that another replica may ask for; absent where this one wants a request of its own. */
  readonly sought?: Sought;
  /** The read that it is for others, once it is sent. */
  readonly key?: string;
  /** Of a write: all that it can touch. */
  readonly touches?: readonly string[];
}

/** What came of one want: a permit, the answer of another replica, or nothing yet. */
type SharedVerdict = 'go' | 'join' | 'landed' | '';

/** What came of a claim. */
export interface SharedClaim {
  /** For each want. */
  readonly verdicts: readonly SharedVerdict[];
  /** After how many milliseconds to ask again for the others. */
  readonly stopMs: number;
}

/** How a request ended that had a permit. */
export interface SharedEnding {
  /** In which its permit was given. */
  readonly epoch: string;
  readonly feedback: Feedback;
  readonly key?: string;
  /** Whether its answer is in Redis. */
  readonly kept: boolean;
  readonly code?: string;
  /** It was a write that has changed nothing. */
  readonly withdraw?: boolean;
}

interface SharedLedgerOptions {
  readonly replica: Pick<Replica, 'applied' | 'call' | 'epoch' | 'id'>;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  /** Of the key's budget, in Redis. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly timeoutMs: number;
  /** Whether an answer that shows all writes up to a number is right for some tags. */
  readonly shows: (tags: readonly string[], asOf: number) => boolean;
  /** Whether this replica ends: a claim that is under way gets nothing then, and leaves no bid. */
  readonly isLeaving: () => boolean;
  /** Told whenever the budget, or what waits elsewhere, may be other than before. */
  readonly heard: (ledger: SharedLedger) => void;
}

/** How long a slot counts whose replica ended without a word and may only be stopped, in milliseconds. */
const GHOST_MS = 600_000;
/** So much longer than it is asked again a bid counts, in milliseconds. */
const BID_MS = 400;
/** Longest time without asking again, in milliseconds. */
const LONGEST_STOP_MS = 1000;
/** Messages can be lost that would end a caution. */
const CAUTION_MS = 100;

/** The budget of one key in Redis, which all replicas share. */
export class SharedLedger {
  readonly rules: Rules;
  /** For how long nothing is sent when Redis has lost its memory, in milliseconds. */
  readonly holdMs: number;
  readonly document: SharedDocument<KeyBudget>;
  readonly #options: SharedLedgerOptions;
  /** When the intent of a write whose replica was not heard of any more counts as the write, in milliseconds. */
  readonly #intentMs: number;
  readonly #unknown: KeyBudget;
  #bids: ReadonlyMap<string, WaitingCounts> = new Map();

  constructor(options: SharedLedgerOptions) {
    const { clock, limit, name, replica, times, timeoutMs, windowMs } = options;
    this.#options = options;
    this.holdMs = holdMs(times, options);
    this.#intentMs = times.sendByMs + timeoutMs + times.marginMs;
    const { marginMs } = times;
    this.rules = { limit, windowMs, marginMs, holdMs: this.holdMs, ghostMs: GHOST_MS };
    this.#unknown = newBudget(this.rules, 0);
    this.document = new SharedDocument({
      replica,
      clock,
      name,
      form: budgetForm(this.rules),
      heard: () => {
        this.#bids = bidsIn(this.document.known);
        options.heard(this);
      },
    });
  }

  get name(): string {
    return this.document.name;
  }

  get windowMs(): number {
    return this.rules.windowMs;
  }

  /** The budget as last known, for what does not depend on the time: slots may be in it that are over. */
  get known(): KeyBudget {
    return this.document.known?.document ?? this.#unknown;
  }

  /** The budget as it stands at the moment of now, on its own clock: nothing is sent on its word. Not to be changed. */
  get standing(): { readonly budget: KeyBudget; readonly now: number } {
    const { known } = this.document;
    const now = known ? known.now + (this.#options.clock.now() - known.heardAt) : 0;
    const budget = this.known;
    purge(budget, this.rules, now);
    return { budget, now };
  }

  /** What waits on other replicas, by their names. */
  get bids(): ReadonlyMap<string, WaitingCounts> {
    return this.#bids;
  }

  /** Whether a replica is heard of. */
  readonly isAlive = (owner: string): boolean =>
    owner === this.#options.replica.id || this.document.known?.others.has(owner) === true;

  /** Whether a slot is one of this replica. */
  isOwn(owner: string): boolean {
    return owner === this.#options.replica.id;
  }

  /**
   * Claims permits. Rejects with `RedisUnavailable`, whose `doubtful` says that they may have been given, or
   * with `RedisRefused`.
   */
  claim(wants: readonly SharedWant[], waits: WaitingCounts): Promise<Changed<SharedClaim>> {
    return this.document.change((b, around, effects) =>
      this.#claim(b, around, effects, { wants, waits }),
    );
  }

  /** Gives a permit back that was not used, or may not even have been given. */
  async giveBack(id: string): Promise<void> {
    await this.#tell((b, _, effects) => {
      cancelSlot(b, id);
      effects.dropped.add(id);
      this.#tellEnded(effects, {});
    });
  }

  /** A request has ended just now. What goes wrong is tried again for as long as it matters. */
  async ended(id: string, ending: SharedEnding): Promise<void> {
    const { clock, replica } = this.#options;
    const at = clock.now();
    const { code, epoch, feedback, key, withdraw } = ending;
    await this.#tell((b, around, effects) => {
      const kept = ending.kept && epoch === replica.epoch;
      const flight = b.held.find((slot) => slot.id === id)?.flight;
      endSlot(b, this.#rulesIn(around), around.now, {
        id,
        owner: replica.id,
        feedback,
        agoMs: clock.now() - at,
        ...(kept && flight ? { flight: { ...flight, keptAt: around.shared } } : {}),
      });
      if (withdraw) effects.dropped.add(id);
      this.#tellEnded(effects, { key, kept, code });
    });
  }

  /** A lengthy request is still under way. */
  async renew(id: string): Promise<void> {
    await this.#tell((b, around, effects) => {
      renewSlot(b, this.#rulesIn(around), around.now, id, this.#options.replica.id);
      effects.renewed.set(id, this.holdMs);
    });
  }

  /** A slot counts so much longer as the time is not known. */
  #rulesIn({ unsureMs }: Surroundings): Rules {
    const { marginMs } = this.rules;
    return { ...this.rules, marginMs: marginMs + unsureMs, holdMs: this.holdMs + unsureMs };
  }

  #claim(
    b: KeyBudget,
    around: Surroundings,
    effects: Effects,
    { waits, wants }: { readonly wants: readonly SharedWant[]; readonly waits: WaitingCounts },
  ): SharedClaim {
    const { isLeaving, replica, shows } = this.#options;
    if (isLeaving()) {
      effects.bid = null;
      return { verdicts: wants.map(() => ''), stopMs: LONGEST_STOP_MS };
    }
    const isAlive = (owner: string): boolean => owner === replica.id || around.others.has(owner);
    const isAway = (owner: string): boolean => around.others.has(owner);
    const found = wants.map(({ sought }) =>
      sought ? seek(b, sought, { shared: around.shared, isAway, shows }) : undefined,
    );
    const open = wants.filter((_, at) => !found[at]);
    const left = without(waits, wants, (at) => found[at] !== undefined);
    const quarantineMs = this.holdMs - around.ageMs;
    const claimed =
      quarantineMs > 0
        ? { granted: [], waitMs: quarantineMs, why: 'quarantine' }
        : claimSlots(
            b,
            this.#rulesIn(around),
            around.now,
            open.map((want) => flying(want, around)),
            {
              owner: replica.id,
              free: b.limit - used(b),
              waits: left,
              bids: [...bidsIn(around).values()],
              isAlive,
            },
          );
    const isGranted = (want: SharedWant): boolean => claimed.granted[open.indexOf(want)] === true;
    for (const { id, lengthy, touches = [] } of wants.filter(isGranted)) {
      const ms = lengthy ? this.holdMs : this.#intentMs;
      if (touches.length > 0) effects.intents.set(id, { ms, tags: touches });
    }
    const most = claimed.why === 'caution' ? CAUTION_MS : LONGEST_STOP_MS;
    const stopMs = Math.max(1, Math.ceil(Math.min(claimed.waitMs ?? LONGEST_STOP_MS, most)));
    effects.inCompany = true;
    const bid = without(left, open, (at) => claimed.granted[at] === true);
    effects.bid = countWaiting(bid) === 0 ? null : { text: bidText(bid), ms: stopMs + BID_MS };
    return {
      verdicts: wants.map((want, at) => found[at] ?? (isGranted(want) ? 'go' : '')),
      stopMs,
    };
  }

  #tellEnded(
    { messages }: Effects,
    {
      code,
      kept = false,
      key,
    }: { key?: string | undefined; kept?: boolean; code?: string | undefined },
  ): void {
    const { replica } = this.#options;
    const message = { kind: 'ended', document: this.name, key, kept, code, by: replica.id };
    messages.push({ text: JSON.stringify(message), always: key !== undefined });
  }

  async #tell(step: DocumentStep<KeyBudget, void>): Promise<void> {
    const { clock, times } = this.#options;
    // Then every permit that was given before has run out by itself.
    const until = clock.now() + 2 * this.holdMs;
    while (clock.now() < until) {
      try {
        await this.document.change(step);
        return;
      } catch (error) {
        const waitMs = error instanceof RedisUnavailable ? times.beatMs : times.leaseMs;
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
      }
    }
  }
}

/** A want as its slot is to be known to others. */
function flying({ key, ...want }: SharedWant, { n, shared }: Surroundings): WantedSlot {
  const flight: Flight | undefined = key === undefined ? undefined : { key, at: shared, asOf: n };
  return { ...want, ...(flight && { flight }) };
}

function bidsIn(around: Pick<Surroundings, 'bids'> | null): ReadonlyMap<string, WaitingCounts> {
  return new Map([...(around?.bids ?? [])].map(([name, text]) => [name, readBid(text)]));
}

/** What waits without some of the wants. */
function without(
  waits: WaitingCounts,
  wants: readonly WantedSlot[],
  isGone: (at: number) => boolean,
): WaitingCounts {
  const gone = wants.filter((_, at) => isGone(at));
  const less = (lane: 'write' | 'interactive'): CallerWaits[] => {
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
  const refreshes = gone.filter(({ lane }) => lane === 'refresh').length;
  return {
    write: less('write'),
    interactive: less('interactive'),
    refreshes: Math.max(0, waits.refreshes - refreshes),
    oldestMs: waits.oldestMs,
  };
}
