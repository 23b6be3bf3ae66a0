import type { Clock, Moment } from '../scheduling/clock.ts';
import type { DocumentStep, Effects, Surroundings } from './document-step.ts';
import { RedisRefused, RedisUnavailable } from './failures.ts';
import type { Heard } from './heard.ts';
import { scripts } from './lua/scripts.ts';
import { listOf, pairsIn } from './messages.ts';
import type { Replica } from './replica.ts';
import type { Bounds } from './shared-clock.ts';
import type { ProtocolTimes } from './times.ts';

/** When a change was carried out, and in which memory of Redis. */
export interface SwapMoment {
  readonly epoch: string;
  /** On the shared clock. */
  readonly sharedAt: number;
  /** The latest write in Redis, counted in the epoch. */
  readonly n: number;
  /** When the command was sent. */
  readonly sent: Moment;
}

/** A change that was carried out. */
export interface Changed<T> extends SwapMoment {
  readonly result: T;
}

/** How documents of one kind are read and written. */
export interface DocumentForm<D> {
  /** Parses a text, empty for a document that does not exist, as of a moment; `null` if it cannot be parsed. */
  readonly read: (text: string, now: number) => D | null;
  readonly write: (document: D) => string;
  /** Minimum lifetime of the document, in milliseconds. */
  readonly keepMs: (document: D, now: number) => number;
}

interface SharedDocumentOptions<D> {
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  readonly replica: Pick<Replica, 'applied' | 'call' | 'epoch'>;
  readonly name: string;
  readonly form: DocumentForm<D>;
  /**
   * Called when the document, or the waiting requests of others, may have changed; `null` if it cannot be parsed.
   */
  readonly heard: (known: KnownDocument<D> | null) => void;
}

/** A document as last received by this replica. */
export interface KnownDocument<D> extends Surroundings {
  readonly document: D;
  /** When it was requested, on `clock.now()`. */
  readonly heardAt: number;
}

interface Pending<D> {
  readonly run: DocumentStep<D, (changed: SwapMoment) => void>;
  readonly failed: (error: unknown) => void;
}

/** Maximum additional delay of a command, in milliseconds: see `swap`. */
const ON_ITS_WAY_MS = 20;
/** Others that are faster this many times in a row: each time one of them has got further. */
const MOST_TRIES = 50;

/**
 * A document in Redis that replicas change together. A change is computed here, with the document as last
 * received, and swapped for it if no other replica has changed it; otherwise the newest is returned, and the
 * change is computed again. Changes requested while a command is running are sent together with the next one.
 */
export class SharedDocument<D> {
  readonly name: string;
  /** The document as last heard of; `null` before that. Not to be changed. */
  known: KnownDocument<D> | null = null;
  readonly #options: SharedDocumentOptions<D>;
  #text = '';
  #token = '';
  #epoch = '';
  #company = '';
  #shift = 0;
  #pending: Pending<D>[] = [];
  /** The running changes; `null` if there are none. */
  #work: Promise<void> | null = null;

  constructor(options: SharedDocumentOptions<D>) {
    this.#options = options;
    this.name = options.name;
  }

  /** The token of the document as last received; empty if unknown. */
  get token(): string {
    return this.#epoch === this.#options.replica.epoch ? this.#token : '';
  }

  /**
   * Changes the document. One round trip, and another each time that another replica was faster. Rejects with
   * `RedisUnavailable`, whose `doubtful` says that the change may have been executed, or with `RedisRefused`.
   */
  change<T>(step: DocumentStep<D, T>): Promise<Changed<T>> {
    return new Promise((resolve, reject) => {
      this.#pending.push({
        run: (...of) => {
          const result = step(...of);
          return (changed) => resolve({ ...changed, result });
        },
        failed: reject,
      });
      this.#work ??= this.#carryOutAll();
    });
  }

  /** Resolves when no change is running, whatever its result. */
  async idle(): Promise<void> {
    while (this.#work) await this.#work;
  }

  /** Changes the document, if need be again and again for this many milliseconds. Never rejects. */
  async insist(step: DocumentStep<D, void>, forMs: number): Promise<void> {
    const { clock, times } = this.#options;
    for (const until = clock.now() + forMs; clock.now() < until; ) {
      try {
        await this.change(step);
        return;
      } catch (error) {
        const waitMs = error instanceof RedisUnavailable ? times.beatMs : times.leaseMs;
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
      }
    }
  }

  /** Processes the news of a beat. */
  look(reply: readonly unknown[], of: Heard): void {
    const [token, shift, text, ...company] = reply;
    const isKnown = this.#epoch === of.epoch && this.#token === token;
    this.#hear(of, [token, shift, isKnown ? this.#text : text, ...company]);
  }

  async #carryOutAll(): Promise<void> {
    // Changes requested in one turn are sent together.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const steps = this.#pending;
      this.#pending = [];
      try {
        await this.#carryOut(steps);
      } catch (error) {
        for (const { failed } of steps) failed(error);
      }
    }
    this.#work = null;
  }

  async #carryOut(steps: readonly Pending<D>[]): Promise<void> {
    const { replica } = this.#options;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      let done: readonly ((changed: SwapMoment) => void)[] = [];
      let own: { readonly text: string; readonly document: D } | undefined;
      let refused: Effects['refused'] = [];
      const reply = await replica.call(scripts.swap, (bounds) => {
        const swap = this.#reckon(steps, bounds);
        done = swap.done;
        own = swap.own;
        refused = swap.refused;
        return [JSON.stringify(swap.told), swap.isChanged ? swap.own.text : '', ...swap.texts];
      });
      const { epoch, now: sharedAt, sent } = reply;
      const [count, age, isDone, token, shift, newest, others, bids, company, lost, excluded] =
        reply.rest;
      const [n, ageMs] = [Number(count), Number(age)];
      const heard = { epoch, now: sharedAt, sentAt: sent.now, n, ageMs, others };
      if (isDone !== 1) own = undefined;
      this.#hear(heard, [token, shift, own?.text ?? newest, bids, company], own?.document);
      if (isDone === 1) {
        for (const each of done) each({ epoch, sharedAt, n, sent });
        return;
      }
      const refusal = {
        lost: listOf(lost).map(String),
        excluded: listOf(excluded).map(String),
      };
      for (const each of refused) each(refusal);
      if (this.known === null) await this.#discard();
    }
    throw new RedisUnavailable('too many concurrent updates', false);
  }

  /** Runs steps on the document as last received; on none if unknown, to receive it. */
  #reckon(steps: readonly Pending<D>[], bounds: Bounds | null) {
    const { form, name, replica } = this.#options;
    const known = this.known;
    const read = { name, token: '', latest: 0, forget: 0, messages: [] };
    const none = { done: [], refused: [], texts: [] };
    const nothing = { told: read, isChanged: false as const, own: undefined, ...none };
    if (known === null || bounds === null || this.token === '') return nothing;
    const now = bounds.lower - this.#shift;
    const document = form.read(this.#text, now);
    if (document === null) return nothing;
    const before = form.write(document);
    const { bids, others } = known;
    const ageMs = known.ageMs + Math.max(0, bounds.lower - known.shared);
    const n = Math.max(known.n, replica.applied);
    const unsureMs = bounds.latest - bounds.lower;
    const surroundings = { now, unsureMs, shared: bounds.lower, ageMs, n, others, bids };
    const effects: Effects = {
      intents: new Map(),
      records: new Map(),
      refused: [],
      renewed: new Map(),
      dropped: new Set(),
      messages: [],
    };
    const done = steps.map(({ run }) => run(document, surroundings, effects));
    const after = form.write(document);
    const isChanged = after !== before;
    const { bid, dropped, inCompany, intents, messages, records, refused, renewed } = effects;
    const texts = [...records.values()].map(({ text }) => text);
    const told = {
      name,
      token: this.#token,
      ...(inCompany ? { company: this.#company, n } : {}),
      latest: bounds.latest + ON_ITS_WAY_MS,
      forget: Math.ceil(form.keepMs(document, now)),
      messages,
      ...(bid === undefined ? {} : { bid: bid?.text ?? '', bidMs: Math.ceil(bid?.ms ?? 0) }),
      ...(intents.size + renewed.size + dropped.size === 0
        ? {}
        : {
            intents: {
              add: Object.fromEntries(intents),
              renew: Object.fromEntries(renewed),
              drop: [...dropped],
            },
          }),
      ...(records.size === 0
        ? {}
        : {
            records: [...records].map(([id, { ms, name, sent, token }]) => {
              return { id, name, token, sent, ms };
            }),
          }),
    };
    const own = { text: isChanged ? after : this.#text, document };
    return { told, isChanged, own, done, refused, texts };
  }

  /** `own` is the document as it was written here, if it was: then it need not be read. */
  #hear({ ageMs, epoch, n, others, ...of }: Heard, reply: readonly unknown[], own?: D): void {
    const [token, shift, text, bids, company] = reply;
    const { form, heard } = this.#options;
    // It names those that live, and what they wait for.
    const known = (this.#company === company && this.known) || {
      bids: new Map(pairsIn(bids)),
      others: new Set(listOf(others).map(String)),
    };
    this.#company = String(company);
    this.#epoch = epoch;
    this.#token = String(token);
    this.#shift = Number(shift);
    this.#text = String(text);
    const now = of.now - this.#shift;
    const document = own ?? form.read(this.#text, now);
    const rest = { now, unsureMs: 0, shared: of.now, heardAt: of.sentAt, ageMs, n };
    this.known = document && { ...known, document, ...rest };
    heard(this.known);
  }

  /** What cannot be read is a loss of memory: its content is unknown. */
  async #discard(): Promise<never> {
    const { name, replica } = this.#options;
    await replica.call(scripts.discard, [JSON.stringify({ name, token: this.#token })]);
    throw new RedisRefused('a document that cannot be parsed');
  }
}
