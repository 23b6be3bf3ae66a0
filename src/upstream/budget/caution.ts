import type { Clock } from '../../clock.ts';
import type { KeyJournal } from './journal/journal.ts';
import type { Lane } from './lanes.ts';

/** So many windows after a sign of a co-tenant, requests go side by side again. */
const CO_TENANT_REMEMBERED_WINDOWS = 10;
/** So long after an answer, what it said of the budget is taken to hold still. */
const HEARD_MS = 250;
/** How many go side by side before the first answer, at a start or where others use the key. */
const FIRST_ABREAST = 2;
/** How long the others wait for an answer before one more goes; doubles until one comes. */
const PROBE_MS = 1000;

/** What is known of the window at this moment. */
export interface Spendable {
  /** Requests sent, or about to be, and not answered yet. */
  readonly onWire: number;
  readonly free: number;
}

/** What is known of a key when the process begins. */
type Known = Pick<KeyJournal, 'isKnown' | 'coTenantSeenAt'>;

/**
 * How many requests go side by side while it is not known what is left of the window, so that few of them are
 * refused together. After a refusal one goes as a probe, and at the start of a process two; while a co-tenant
 * spends the same key, two go first, one more with each good answer, and never more than half of what is left. A key
 * that is ours alone needs no such care, nor at a start one of which the process before has left a full account: its
 * ledger knows all that is spent.
 */
export class Caution {
  readonly #clock: Clock;
  readonly #windowMs: number;
  /** What is left of the window is not known at all. */
  #blind: boolean;
  #remainingHeard = false;
  #heardAt = Number.NEGATIVE_INFINITY;
  #coTenantSeenAt: number;
  /** How many may be on the wire, as far as answers since the last silence have shown. */
  #abreast = FIRST_ABREAST;
  /** When one more goes although no answer has come. */
  #oneMoreAt = Number.NEGATIVE_INFINITY;
  #withoutAnswer = 0;

  /** @param before what the process before has noted of the key. */
  constructor(clock: Clock, windowMs: number, before: Known) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#blind = !before.isKnown;
    this.#coTenantSeenAt = before.coTenantSeenAt ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Milliseconds for which the next request of a lane waits for the answers of those on the wire; 0 when it
   * may go. A write does not wait for reads that went as probes: it may go beside them.
   */
  waitMs(spendable: Spendable, lane: Lane): number {
    const extra = lane === 'write' ? 1 : 0;
    if (spendable.onWire < this.#allowed(spendable) + extra) return 0;
    return Math.max(0, this.#oneMoreAt - this.#clock.now());
  }

  /** How long `ahead` requests take to go before another one, beyond finding slots; a guess. */
  estimateMs(ahead: number, spendable: Spendable, latencyMs: number): number {
    const abreast = this.#allowed(spendable);
    const known = { abreast, most: this.#mostAbreast(spendable), about: this.#coTenantAbout };
    return waitAbreastMs(ahead + spendable.onWire, known, latencyMs);
  }

  /** Whether requests are held because some would be refused, and not for want of an answer only. */
  get strict(): boolean {
    return this.#blind || this.#coTenantAbout;
  }

  /** Whether an answer has told how much is left of the window. */
  get remainingHeard(): boolean {
    return this.#remainingHeard;
  }

  /** A request goes while so many others are on the wire. */
  sends(spendable: Spendable): void {
    const now = this.#clock.now();
    if (spendable.onWire === 0) {
      if (this.#silent) this.#abreast = FIRST_ABREAST;
      this.#withoutAnswer = 0;
    } else if (now < this.#oneMoreAt || spendable.onWire < this.#allowed(spendable)) {
      return;
    } else {
      this.#withoutAnswer += 1;
    }
    this.#oneMoreAt = now + PROBE_MS * 2 ** this.#withoutAnswer;
  }

  /** An answer came. */
  heard(remaining: boolean): void {
    this.#heardAt = this.#clock.now();
    this.#withoutAnswer = 0;
    this.#oneMoreAt = this.#heardAt + PROBE_MS;
    this.#remainingHeard ||= remaining;
  }

  /** A request that left after the latest pause was taken. */
  accepted(): void {
    this.#abreast = this.#blind ? FIRST_ABREAST : this.#abreast + 1;
    this.#blind = false;
  }

  /** A request was refused, which only a co-tenant or a lower limit explains. */
  refused(): void {
    this.#blind = true;
    this.coTenantSeen();
  }

  /** The headers show requests that were none of ours. */
  coTenantSeen(): void {
    if (!this.#coTenantAbout) this.#abreast = FIRST_ABREAST;
    this.#coTenantSeenAt = this.#clock.now();
  }

  get #coTenantAbout(): boolean {
    const remembered = CO_TENANT_REMEMBERED_WINDOWS * this.#windowMs;
    return this.#clock.now() - this.#coTenantSeenAt < remembered;
  }

  get #silent(): boolean {
    return this.#clock.now() - this.#heardAt >= HEARD_MS;
  }

  /** How many may be on the wire now. */
  #allowed(spendable: Spendable): number {
    const isSharedKey = this.#coTenantSeenAt !== Number.NEGATIVE_INFINITY;
    if (this.#blind) return isSharedKey ? 1 : FIRST_ABREAST;
    if (!isSharedKey) return Number.POSITIVE_INFINITY;
    const abreast = spendable.onWire === 0 && this.#silent ? FIRST_ABREAST : this.#abreast;
    if (this.#coTenantAbout) return Math.min(abreast, this.#mostAbreast(spendable));
    // A co-tenant who has been silent for long may be back: one good answer says that there is none.
    return abreast === FIRST_ABREAST ? FIRST_ABREAST : Number.POSITIVE_INFINITY;
  }

  /** Half of what is left: the other half is for what co-tenants spend before our requests arrive. */
  #mostAbreast({ free, onWire }: Spendable): number {
    if (!this.#remainingHeard) return FIRST_ABREAST;
    return Math.max(1, Math.ceil((free + onWire) / 2));
  }
}

/**
 * How long `before` requests take to go before another one, if `abreast` may be on the wire now, and more with each
 * answer: `most` while a co-tenant is about, any number otherwise. A guess.
 */
export function waitAbreastMs(
  before: number,
  known: { readonly abreast: number; readonly most: number; readonly about: boolean },
  latencyMs: number,
): number {
  let { abreast } = known;
  let left = before;
  let rounds = 0;
  for (; left >= abreast; rounds += 1) {
    // All good answers: without a co-tenant nothing holds them from then on.
    if (!known.about) return latencyMs;
    left -= abreast;
    if (abreast >= known.most) return (rounds + 1 + Math.floor(left / known.most)) * latencyMs;
    abreast = Math.min(known.most, Math.max(FIRST_ABREAST, 2 * abreast));
  }
  return rounds * latencyMs;
}
