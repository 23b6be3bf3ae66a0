import type { SettledHow } from '../observe/events.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { RedisUnavailable } from './failures.ts';
import { scripts } from './lua/scripts.ts';
import { pairsIn } from './messages.ts';
import type { Replica } from './replica.ts';
import type { ProtocolTimes } from './times.ts';

interface SettlingOptions {
  readonly replica: Replica;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  /** After this time without success, the intents of writes have taken effect. */
  readonly giveUpMs: number;
  /** Called for each write that has settled, with the milliseconds that it took. */
  readonly settled: (how: SettledHow, ms: number) => void;
}

/** Writes that are sent again when Redis has lost its memory. */
const REMEMBERED = 100;
/** Replicas whose acknowledgements are remembered. */
const REPLICAS_REMEMBERED = 1000;
/** A replica whose lease has expired by its own clock may still be responding. */
const SPARE_MS = 50;

/** A caller that waits until other replicas have received a write. */
interface Waiting {
  readonly epoch: string;
  readonly n: number;
  readonly others: Set<string>;
  readonly done: () => void;
}

/**
 * Announces writes to all replicas. The writer waits until every replica with a valid lease has acknowledged it,
 * or its lease has expired: so writes bear the cost of the guarantee to readers.
 */
export class Settling {
  readonly #options: SettlingOptions;
  readonly #waiting = new Set<Waiting>();
  /** The latest write that each other replica has acknowledged. */
  readonly #known = new Map<string, { readonly epoch: string; readonly n: number }>();
  /** The tags of the latest writes of this process. */
  readonly #latest: (readonly string[])[] = [];
  readonly #notices: Notices;
  /** Whether the latest writes are to be sent again, and are not yet. */
  #isRetelling = false;
  #closed = false;

  constructor(options: SettlingOptions) {
    this.#options = options;
    this.#notices = new Notices(options);
  }

  /**
   * Sends a write, repeatedly until it succeeds, and resolves when no replica serves the state before it. `told`
   * is called with the number of the write. Never rejects.
   */
  async settle(
    tags: readonly string[],
    intent: string | undefined,
    told: (n: number) => void,
  ): Promise<void> {
    if (tags.length === 0) return;
    const { clock, giveUpMs, settled } = this.#options;
    this.#latest.push(tags);
    if (this.#latest.length > REMEMBERED) this.#latest.shift();
    const began = clock.now();
    const how = await new Promise<SettledHow>((resolve) => {
      const cancel = clock.after(giveUpMs, () => resolve('gave_up'));
      inBackground(this.#settle(tags, intent, told).then(resolve).finally(cancel));
    });
    settled(how, clock.now() - began);
  }

  /** Another replica has received all writes up to `n`. */
  acked(epoch: string, by: string, n: number): void {
    this.#known.delete(by);
    this.#known.set(by, { epoch, n });
    if (this.#known.size > REPLICAS_REMEMBERED) {
      for (const [oldest] of [...this.#known].slice(0, 1)) this.#known.delete(oldest);
    }
    for (const waiting of this.#waiting) {
      if (waiting.epoch !== epoch || waiting.n > n || !waiting.others.delete(by)) continue;
      if (waiting.others.size === 0) waiting.done();
    }
  }

  /** Redis is reachable again, or has lost its data: pending notices are sent now. */
  again(): void {
    this.#notices.again();
  }

  /** Redis has lost its memory: the latest writes are sent to it again. */
  async retell(): Promise<void> {
    // Pending notices are sent to Redis whatever its epoch is then.
    if (this.#latest.length === 0 || this.#isRetelling) return;
    this.#isRetelling = true;
    const { replica } = this.#options;
    for (;;) {
      const noted = await this.#notices.tell([...new Set(this.#latest.flat())]);
      if (!noted || noted.epoch === replica.epoch) break;
    }
    this.#isRetelling = false;
  }

  /** Stops repeating notices. */
  close(): void {
    this.#closed = true;
    this.#notices.close();
  }

  async #settle(
    tags: readonly string[],
    intent: string | undefined,
    told: (n: number) => void,
  ): Promise<SettledHow> {
    const { clock, replica, times } = this.#options;
    for (;;) {
      const reply = await this.#notices.tell(tags, intent);
      if (!reply) return 'gave_up';
      const { ageMs, epoch, n, others } = reply;
      // Numbers of another epoch are invalid in this one.
      if (replica.epoch === epoch) told(n);
      const acks = this.#acks(epoch, n, others);
      const young = times.leaseMs - ageMs;
      // Leases of the epoch before are written nowhere.
      if (young > 0) await new Promise<void>((resolve) => void clock.after(young, resolve));
      const how = await acks;
      if (replica.epoch === epoch || this.#closed) return young > 0 ? 'epoch' : how;
    }
  }

  /** Waits until others have received a write, or their leases have expired. */
  #acks(epoch: string, n: number, leases: ReadonlyMap<string, number>): Promise<SettledHow> {
    const { clock } = this.#options;
    // An acknowledgement can be read together with the reply that it followed.
    const others = [...leases.keys()].filter((by) => {
      const known = this.#known.get(by);
      return known?.epoch !== epoch || known.n < n;
    });
    if (others.length === 0) return Promise.resolve<SettledHow>('acks');
    return new Promise<SettledHow>((resolve) => {
      const leaseMs = Math.max(...others.map((by) => leases.get(by) ?? 0)) + SPARE_MS;
      const end = (how: SettledHow): void => {
        cancel();
        this.#waiting.delete(waiting);
        resolve(how);
      };
      const waiting: Waiting = {
        epoch,
        n,
        others: new Set(others),
        done: () => end('acks'),
      };
      const cancel = clock.after(leaseMs, () => end('lease'));
      this.#waiting.add(waiting);
    });
  }
}

/** Redis' reply to a notice: all writes of one command have one number. */
interface Noted {
  readonly epoch: string;
  readonly n: number;
  readonly ageMs: number;
  /** The replicas with a valid lease, and its remaining time in milliseconds. */
  readonly others: ReadonlyMap<string, number>;
}

/** A write that Redis has not received yet. */
interface Notice {
  readonly tags: readonly string[];
  /** The permit of the write, whose intent represents it until then. */
  readonly intent: string | undefined;
  readonly done: (noted: Noted | null) => void;
}

/**
 * Sends writes to Redis, again and again until it gets through. One command at a time is under way, with all writes
 * that are waiting: however many there are while Redis is away, there is one attempt to make and one timer.
 */
class Notices {
  readonly #options: Pick<SettlingOptions, 'clock' | 'replica' | 'times'>;
  readonly #waiting = new Set<Notice>();
  #isTelling = false;
  #wake = (): void => {};
  #closed = false;

  constructor(options: Pick<SettlingOptions, 'clock' | 'replica' | 'times'>) {
    this.#options = options;
  }

  /** Sends a write that has touched tags; `null` once that is of no use any more. Never rejects. */
  tell(tags: readonly string[], intent?: string): Promise<Noted | null> {
    if (this.#closed) return Promise.resolve(null);
    return new Promise((done) => {
      this.#waiting.add({ tags, intent, done });
      if (!this.#isTelling) inBackground(this.#tellAll());
    });
  }

  /** Redis is reachable again: pending notices are sent now. */
  again(): void {
    this.#wake();
  }

  /** Stops sending notices. */
  close(): void {
    this.#closed = true;
    for (const { done } of this.#waiting) done(null);
    this.#waiting.clear();
    this.#wake();
  }

  async #tellAll(): Promise<void> {
    const { clock, replica, times } = this.#options;
    this.#isTelling = true;
    while (this.#waiting.size > 0) {
      const notices = [...this.#waiting];
      const tags = [...new Set(notices.flatMap((notice) => notice.tags))];
      const intents = notices.flatMap(({ intent }) => intent ?? []);
      try {
        const { epoch, rest } = await replica.call(scripts.touched, [
          JSON.stringify({ tags, intents }),
        ]);
        const [n, age, others] = rest;
        const noted = { epoch, n: Number(n), ageMs: Number(age), others: leasesIn(others) };
        for (const notice of notices) {
          this.#waiting.delete(notice);
          notice.done(noted);
        }
      } catch (error) {
        // One that was carried out and not heard of is sent twice, which does no harm.
        const waitMs = error instanceof RedisUnavailable ? times.leaseMs : times.beatMs;
        await new Promise<void>((resolve) => {
          const cancel = clock.after(waitMs, resolve);
          this.#wake = () => {
            cancel();
            resolve();
          };
        });
      }
    }
    this.#isTelling = false;
  }
}

function leasesIn(reply: unknown): ReadonlyMap<string, number> {
  return new Map(pairsIn(reply).map(([id, ms]) => [id, Number(ms)]));
}
