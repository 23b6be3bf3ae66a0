import { GatewayError } from '../../../errors.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { waitMs } from '../../../scheduling/wait.ts';
import { patienceOf } from '../../operation.ts';
import type { Creation } from '../../request.ts';
import type { Writes } from '../../writes.ts';
import type { Ambiguity } from '../kept-records.ts';
import { idOf, type Records } from '../records.ts';
import type { WriteRun } from '../write-run.ts';
import type { SeenPage } from './evidence-lists.ts';
import { endOf, type JudgedRows, judgeRows, nextPage, showsAll } from './judge-rows.ts';
import { KnownRows } from './known-rows.ts';

interface LostCreationsOptions {
  readonly clock: Clock;
  readonly records: Records;
  /** After the end of a request, the upstream can still execute it for this time, in milliseconds. */
  readonly settleMs: number;
  readonly writes: Writes;
}

/** What became of a creation whose response was lost: its result, or what is known of it. */
type FoundCreation<T> =
  | { readonly value: T }
  | {
      readonly ambiguity: Ambiguity;
      /** When a retry can find out, on `Records.now`; `null` if none can. */
      readonly settlesAt: number | null;
    };

/** Maximum number of pages per look. */
const MOST_PAGES = 3;

/** Finds the rows of creations whose response was lost: one look at the list after the request has settled. */
export class LostCreations {
  readonly #options: LostCreationsOptions;
  readonly #knownRows = new KnownRows();

  constructor(options: LostCreationsOptions) {
    this.#options = options;
  }

  /** Ids of rows that certainly exist now, at least the highest; `null` if they are not known. Costs no upstream request. */
  baseline<T>(run: WriteRun<T>, { list }: Creation<T>): readonly number[] | null {
    const name = nameOf(run, list);
    const { now } = this.#options.records;
    const { query: _filters, ...whole } = list;
    const end = run.lists.cachedEnd(whole, run.access);
    // A write invalidates the page: the next creation finds the id there.
    if (end) this.#knownRows.seen(name, end, now);
    return this.#knownRows.baseline(name, now);
  }

  /** A creation was confirmed, or found; `baseline` is what existed before. */
  created<T>(
    run: WriteRun<T>,
    { list }: Creation<T>,
    { baseline, value }: { readonly baseline: readonly number[] | null; readonly value: T },
  ): void {
    const name = nameOf(run, list);
    const id = idOf(value);
    const { now } = this.#options.records;
    if (id !== null) this.#knownRows.created(name, { baseline, id }, now);
  }

  /**
   * Looks for the row when the request has certainly ended, unless that was done before: at most 3 upstream requests.
   * @throws the caller's abort reason when they disconnect.
   */
  async find<T>(
    run: WriteRun<T>,
    creation: Creation<T>,
    ambiguity: Ambiguity,
  ): Promise<FoundCreation<T>> {
    const { records, settleMs } = this.#options;
    if (ambiguity.isAbsent || ambiguity.candidates.length > 0) {
      return { ambiguity, settlesAt: null };
    }
    const settlesAt = ambiguity.overAt + settleMs;
    if (!(await this.#until(run, settlesAt))) return { ambiguity, settlesAt };
    try {
      const judged = await this.#look(run, creation, ambiguity);
      if (judged.kind === 'found') return { value: creation.valueOf(judged.row) };
      if (judged.kind === 'undecided') return { ambiguity, settlesAt: null };
      const known =
        judged.kind === 'several' ? { candidates: judged.candidates } : { isAbsent: true };
      return { ambiguity: { ...ambiguity, ...known }, settlesAt: null };
    } catch (error) {
      // The API or the budget allows no read now.
      if (!(error instanceof GatewayError)) throw error;
      return { ambiguity, settlesAt: records.now + retryMs(error) };
    }
  }

  /** Waits until a time on `Records.now`; false if that is longer than the caller waits, or the process is about to end. */
  async #until<T>({ access }: WriteRun<T>, at: number): Promise<boolean> {
    const { clock, records, writes } = this.#options;
    const { caller } = access;
    const { receipt, signal } = caller;
    const ms = at - records.now;
    signal.throwIfAborted();
    if (ms <= 0) return true;
    if (ms > patienceOf(caller)) return false;
    const drained = new AbortController();
    const remove = writes.onDrain(() => drained.abort());
    receipt.waitBegins();
    try {
      await waitMs(clock, ms, AbortSignal.any([signal, drained.signal]));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    } finally {
      receipt.waitEnds();
      remove();
    }
  }

  async #look<T>(
    run: WriteRun<T>,
    creation: Creation<T>,
    { baseline, overAt, sentAt }: Ambiguity,
  ): Promise<JudgedRows> {
    const { records, settleMs, writes } = this.#options;
    const { access, lists } = run;
    const { list } = creation;
    const name = nameOf(run, list);
    const { now } = records;
    const sent = { baseline, sentAt, until: Math.min(now, overAt + settleMs) };
    const cachedPage = lists.cachedEnd(list, access)?.page ?? 1;
    const pages: SeenPage[] = [];
    // A filtered list is short.
    let next: number | null = list.query ? 1 : Math.max(this.#knownRows.pageOf(name), cachedPage);
    while (next !== null && pages.length < MOST_PAGES) {
      run.reads += 1;
      pages.push(await writes.look(lists.pageCall(list, next), access));
      next = showsAll(creation, pages, sent) ? null : nextPage(pages);
    }
    const end = list.query ? null : endOf(pages);
    if (end) this.#knownRows.seen(name, end, now);
    const others = records.createdIn(list.path);
    return judgeRows(creation, pages, {
      ...sent,
      isOfAnother: (id) => others.has(id) || this.#knownRows.isOfAnother(name, id),
    });
  }
}

/** Names the list of a creation, whatever its filters. */
function nameOf<T>({ access }: WriteRun<T>, { path }: Creation<T>['list']): string {
  return `${access.credential.partition} ${path}`;
}

/** When a failed read may succeed, in milliseconds. */
function retryMs({ details }: GatewayError): number {
  const { retryAfterMs } = details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 1000;
}
