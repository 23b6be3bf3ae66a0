import { GatewayError } from '../../../errors.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { patienceOf } from '../../operation.ts';
import type {
  Call,
  Creation,
  Evidence,
  List,
  Repeatable,
  Row,
  RowEvidence,
} from '../../request.ts';
import type { Writes } from '../../writes.ts';
import { waitFor } from '../patience.ts';
import type { Ambiguity, Records } from '../records.ts';
import type { WriteCall } from '../runs/write-call.ts';
import type { SeenPage } from './evidence-lists.ts';
import { endOf, isWhole, type Judged, judgeRows, nextPage, showsAll } from './judge-rows.ts';
import type { CreatedIn } from './known-rows.ts';
import type { RowWrites } from './row-writes.ts';

/** How long requests take, in milliseconds. */
export interface SettleTimes {
  /** After the end of a request, the upstream can still execute it for this time. */
  readonly settleMs: number;
  /** A write whose effect is absent is sent again after this time. */
  readonly resendAfterMs: number;
}

interface ReconcilerOptions extends SettleTimes {
  readonly clock: Clock;
  readonly records: Records;
  readonly rowWrites: RowWrites;
  readonly writes: Writes;
}

/** What became of a write whose outcome was unknown. */
export type Found<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** It has had no effect, or a second request has the same: it may be sent again. */
  | { readonly kind: 'absent'; readonly ambiguity: Ambiguity }
  | {
      readonly kind: 'unknown';
      readonly ambiguity: Ambiguity;
      /** When a retry can find out, on `Records.now`; `null` if none can. */
      readonly settlesAt: number | null;
    };

/** Maximum number of requests per key. */
const MOST_SENDS = 2;
/** Maximum number of pages per look. */
const MOST_PAGES = 3;

/** Finds out whether a write has happened whose response was lost, for a caller that waits. */
export class Reconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /**
   * Looks for the effect when the request has certainly ended: at most 3 upstream requests per look, and two looks.
   * `looked` is called after each look by which it is absent.
   * @throws the caller's abort reason when they disconnect.
   */
  async find<T>(
    call: WriteCall<T>,
    ambiguity: Ambiguity,
    looked: (ambiguity: Ambiguity) => void = () => {},
  ): Promise<Found<T>> {
    const { evidence } = call.write;
    const never = { kind: 'unknown', ambiguity, settlesAt: null } as const;
    if (!evidence) return never;
    if (evidence.kind === 'repeatable') return this.#repeat(call, ambiguity);
    if (ambiguity.candidates.length > 0) return never;
    return this.#search(call, evidence, ambiguity, looked);
  }

  /**
   * Looks once more after a second request was rejected, which can be because the first was applied late: at most 3 upstream
   * requests. `absent` if the rejection is final.
   */
  async findApplied<T>(
    call: WriteCall<T>,
    ambiguity: Ambiguity,
    rejection: Parameters<NonNullable<Repeatable<T>['appliedBefore']>>[0],
  ): Promise<Found<T>> {
    const { evidence } = call.write;
    if (!evidence) return { kind: 'absent', ambiguity };
    if (evidence.kind !== 'repeatable') return this.#tryLook(call, evidence, ambiguity);
    const value = evidence.appliedBefore?.(rejection) ?? null;
    return value === null ? { kind: 'absent', ambiguity } : { kind: 'done', value };
  }

  async #repeat<T>(call: WriteCall<T>, ambiguity: Ambiguity): Promise<Found<T>> {
    const settlesAt = ambiguity.overAt + this.#options.settleMs;
    if (!this.#mayRepeat(call, ambiguity)) return { kind: 'unknown', ambiguity, settlesAt: null };
    if (!(await this.#until(call, settlesAt))) return { kind: 'unknown', ambiguity, settlesAt };
    if (!this.#mayRepeat(call, ambiguity)) return { kind: 'unknown', ambiguity, settlesAt: null };
    return { kind: 'absent', ambiguity };
  }

  /** Whether a second request overwrites nothing. */
  #mayRepeat<T>({ access, key, write }: WriteCall<T>, { attempts, sentAt }: Ambiguity): boolean {
    if (key === null || attempts >= MOST_SENDS) return false;
    const { row } = write;
    if (row === undefined) return true;
    return !this.#options.rowWrites.hasPassed({ row, access }, key.name, sentAt);
  }

  async #search<T>(
    call: WriteCall<T>,
    evidence: RowEvidence<T> | Creation<T>,
    before: Ambiguity,
    looked: (ambiguity: Ambiguity) => void,
  ): Promise<Found<T>> {
    const { resendAfterMs, settleMs } = this.#options;
    // The API rejects a second row of the same unique value, also if the first request is executed after the look.
    const isSafe = evidence.kind === 'creation' && evidence.isUnique;
    const decisiveAt = before.overAt + (isSafe ? settleMs : resendAfterMs);
    let ambiguity = before;
    for (;;) {
      const { absentAt, attempts } = ambiguity;
      const isSentTwice = attempts >= MOST_SENDS;
      const isDecided = absentAt.some((at) => at >= decisiveAt);
      if (isSentTwice && isDecided) return { kind: 'unknown', ambiguity, settlesAt: null };
      // The second request was delayed, or its process was killed before.
      if (isDecided && evidence.kind === 'creation') return { kind: 'absent', ambiguity };
      const at = absentAt.length > 0 ? decisiveAt : before.overAt + settleMs;
      if (!(await this.#until(call, at))) return { kind: 'unknown', ambiguity, settlesAt: at };
      const seen = await this.#tryLook(call, evidence, ambiguity);
      if (seen.kind !== 'absent') return seen;
      ({ ambiguity } = seen);
      looked(ambiguity);
      if (call.key === null) return { kind: 'unknown', ambiguity, settlesAt: null };
      if (evidence.kind === 'row' && evidence.mayRepeat) {
        if (this.#mayRepeat(call, ambiguity)) return seen;
        return { kind: 'unknown', ambiguity, settlesAt: null };
      }
      if ((ambiguity.absentAt.at(-1) ?? 0) < decisiveAt) continue;
      if (isSentTwice || evidence.kind === 'row') {
        return { kind: 'unknown', ambiguity, settlesAt: null };
      }
      return seen;
    }
  }

  /** Waits until a time on `Records.now`; false if that is longer than the caller waits, or the process is about to end. */
  async #until<T>({ access }: WriteCall<T>, at: number): Promise<boolean> {
    const { clock, records, writes } = this.#options;
    const { caller } = access;
    const { receipt, signal } = caller;
    const ms = at - records.now;
    if (signal.aborted) throw signal.reason;
    if (ms <= 0) return true;
    if (ms > patienceOf(caller)) return false;
    let remove = (): void => {};
    const drained = new Promise<void>((resolve) => {
      remove = writes.onDrain(resolve);
    });
    receipt.waitBegins();
    const isDrained = await waitFor(drained, clock, { patienceMs: ms, signal });
    receipt.waitEnds();
    remove();
    if (signal.aborted) throw signal.reason;
    return !isDrained;
  }

  /** `#look`; `unknown` for now if the API or the budget allows no read. */
  async #tryLook<T>(
    call: WriteCall<T>,
    evidence: RowEvidence<T> | Creation<T>,
    ambiguity: Ambiguity,
  ): Promise<Found<T>> {
    try {
      return await this.#look(call, evidence, ambiguity);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const settlesAt = this.#options.records.now + retryMs(error);
      return { kind: 'unknown', ambiguity, settlesAt };
    }
  }

  /** `absent` has the time of the look. */
  async #look<T>(
    call: WriteCall<T>,
    evidence: RowEvidence<T> | Creation<T>,
    ambiguity: Ambiguity,
  ): Promise<Found<T>> {
    const { now } = this.#options.records;
    const unknown = { kind: 'unknown', ambiguity, settlesAt: null } as const;
    const absent = { ...ambiguity, absentAt: [...ambiguity.absentAt, now] };
    if (evidence.kind === 'row') {
      const row = await this.#row(call, evidence);
      if (row === undefined) return unknown;
      const value = row && evidence.applied(row, call.before);
      return value === null ? { kind: 'absent', ambiguity: absent } : { kind: 'done', value };
    }
    const judged = await this.#newRow(call, evidence, ambiguity);
    const list = this.#options.records.knownRows.place(call.list ?? '');
    switch (judged.kind) {
      case 'found':
        return { kind: 'done', value: evidence.valueOf(judged.row) };
      case 'several':
        return { ...unknown, ambiguity: { ...ambiguity, list, candidates: judged.candidates } };
      case 'absent':
        return { kind: 'absent', ambiguity: { ...absent, list } };
      default:
        return unknown;
    }
  }

  /** 1 to 3 upstream requests. */
  async #newRow<T>(
    call: WriteCall<T>,
    creation: Creation<T>,
    { baseline, list: noted, overAt, sentAt }: Ambiguity,
  ): Promise<Judged> {
    const { records, resendAfterMs } = this.#options;
    const { knownRows } = records;
    const { list } = creation;
    const name = call.list ?? '';
    const { now } = records;
    const sent = { baseline, sentAt, until: Math.min(now, overAt + resendAfterMs) };
    const pages: SeenPage[] = [];
    let next: number | null = this.#endOf(call, list, noted);
    while (next !== null && pages.length < MOST_PAGES) {
      pages.push(await this.#page(call, list, next));
      next = showsAll(creation, pages, sent) ? null : nextPage(pages);
    }
    const end = list.query ? null : endOf(pages);
    if (end) knownRows.seen(name, end, now);
    return judgeRows(creation, pages, {
      ...sent,
      isOfAnother: (id) => knownRows.isOfAnother(name, id),
    });
  }

  /** The page on which new rows appear, as far as it is known. A filtered list is short. */
  #endOf<T>(call: WriteCall<T>, list: List<Row>, noted: CreatedIn | undefined): number {
    if (list.query) return 1;
    const { access, lists } = call;
    const { page } = this.#options.records.knownRows.place(call.list ?? '');
    const known = page ?? noted?.page ?? 1;
    return Math.max(known, lists.cachedEnd(list, access)?.page ?? 1);
  }

  /** 1 or 2 upstream requests; `null` if the row does not exist, `undefined` if it was not found. */
  async #row<T>(call: WriteCall<T>, { id, list }: RowEvidence<T>): Promise<Row | null | undefined> {
    const single = list.single?.(id);
    if (single) return this.#read(call, single);
    const { access, lists } = call;
    const begin = lists.cachedRow(list, id, access)?.page ?? 1;
    const pages: SeenPage[] = [];
    for (let number: number | null = begin; number !== null && pages.length < 2; ) {
      const page: SeenPage = await this.#page(call, list, number);
      pages.push(page);
      const row = page.rows.find((each) => each.id === id);
      if (row) return row;
      if (isWhole(pages)) return null;
      number = begin === 1 ? (page.lastPage ?? 2) : begin - 1;
    }
    return undefined;
  }

  #page<T>(call: WriteCall<T>, list: Creation<T>['list'], number: number): Promise<SeenPage> {
    return this.#read(call, call.lists.pageCall(list, number));
  }

  #read<T, V>(call: WriteCall<T>, of: Call<V>): Promise<V> {
    call.reads += 1;
    return this.#options.writes.look(of, call.access);
  }
}

/** When a failed read may succeed, in milliseconds. */
function retryMs({ details }: GatewayError): number {
  const { retryAfterMs } = details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 1000;
}

/** Whether a rejected second request can mean that the first was applied. */
export function mayBeApplied<T>(evidence: Evidence<T> | null | undefined): boolean {
  if (!evidence) return false;
  if (evidence.kind === 'repeatable') return evidence.appliedBefore !== undefined;
  return evidence.kind === 'row' || evidence.isUnique;
}
