import { GatewayError, RejectedTogether, type UpstreamName } from '../errors.ts';
import { inBackground } from '../scheduling/at-once.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';

/** A read that the cache does not serve, before it is decided whether a request is sent for it. */
export interface PendingRead {
  readonly upstream: UpstreamName;
  /** The batch that it belongs to: reads of one operation in the same turn. */
  readonly batch: string;
  /** Equal reads are one request. */
  readonly key: string;
  /** See `PageTraits.further`. */
  readonly rows?: number | 'whole' | undefined;
  /** Whether an older response is acceptable. */
  readonly hasFallback: boolean;
  /** Maximum number of requests of the operation to this upstream. */
  readonly limit: number;
  readonly expected: {
    /** Whether a request that is in flight, or about to be sent, serves it at no cost. */
    readonly isShared: boolean;
    /** A request will be sent for it in this turn. */
    decide(): void;
  };
}

/** A read, with functions to accept or reject it. */
interface Judged {
  readonly pending: PendingRead;
  readonly resolve: (isPaid: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of reads that are rejected in one turn of the event loop. */
const REFUSED_A_TURN = 500;

/**
 * The upstream requests that one operation may send to each upstream, and those set aside. Reads that come from
 * the same list are requested in one turn and judged as one batch: either all of them fit, or none is sent,
 * because a part of them would use the budget of all callers without a complete result.
 */
export class Spending {
  readonly #setAside: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  #batches = new Map<string, Judged[]>();

  /**
   * Sets aside one request that is judged alone, such as a write.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` when `limit` are set aside already.
   */
  take(upstream: UpstreamName, limit: number): void {
    const left = limit - this.#setAside[upstream];
    if (left < 1) throw tooExpensive({ upstream, limit, needed: 1, left: 0 });
    this.#setAside[upstream] += 1;
  }

  /** Returns a request that was set aside but is not needed. */
  giveBack(upstream: UpstreamName): void {
    this.#setAside[upstream] -= 1;
  }

  /**
   * Sets aside one request for a read if its batch fits into the remaining requests; resolves with false if another
   * request serves it. Only the error of the first rejected read of a batch has all details, because there can be
   * hundreds.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE`, also for one with a fallback if those without use up what is
   * left.
   */
  admit(pending: PendingRead): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#batches.size === 0) afterThisTurn(() => this.#judge());
      const name = `${pending.upstream} ${pending.batch}`;
      const batch = this.#batches.get(name) ?? [];
      this.#batches.set(name, batch);
      batch.push({ pending, resolve, reject });
    });
  }

  #judge(): void {
    const batches = [...this.#batches.values()];
    this.#batches = new Map();
    for (const batch of batches) this.#judgeBatch(batch);
  }

  #judgeBatch(batch: readonly Judged[]): void {
    const [{ pending }] = batch as [Judged, ...Judged[]];
    const { limit, rows, upstream } = pending;
    const left = Math.max(0, limit - this.#setAside[upstream]);
    const own: Judged[] = [];
    for (const each of batch) {
      if (each.pending.expected.isShared) each.resolve(false);
      else own.push(each);
    }
    const without = own.filter((each) => !each.pending.hasFallback);
    const needed = new Set(without.map((each) => each.pending.key)).size;
    const refusal = refusals({ upstream, limit, needed: Math.max(1, needed), left }, rows);
    // Reads with a fallback share the requests that the others leave.
    const inOrder = [...without, ...own.filter((each) => each.pending.hasFallback)];
    const paid = new Set<string>();
    const refused: Judged[] = [];
    for (const each of inOrder) {
      const { expected, key } = each.pending;
      if (paid.has(key)) each.resolve(false);
      else if (needed <= left && this.#setAside[upstream] < limit) {
        this.#setAside[upstream] += 1;
        paid.add(key);
        expected.decide();
        each.resolve(true);
      } else refused.push(each);
    }
    // Each becomes a separate error of the response, and others need the event loop.
    inBackground(loopTurns.each(refused, REFUSED_A_TURN, ({ reject }) => reject(refusal())));
  }
}

/** Runs a task after the reads that follow from the rows of a response were requested. */
function afterThisTurn(task: () => void): void {
  inBackground(Promise.resolve().then(() => process.nextTick(task)));
}

/** The number of needed requests, and the number that remains. */
interface Shortage {
  readonly upstream: UpstreamName;
  readonly limit: number;
  readonly needed: number;
  readonly left: number;
}

/** The errors of one batch: the first has all details, the others none. */
function refusals(shortage: Shortage, rows: PendingRead['rows']): () => GatewayError {
  const { upstream } = shortage;
  let detailed: GatewayError | null = null;
  let brief: GatewayError | null = null;
  return () => {
    if (detailed) {
      brief ??= new RejectedTogether(upstream, detailed);
      return brief;
    }
    detailed = tooExpensive(shortage, rows);
    return detailed;
  };
}

function tooExpensive(shortage: Shortage, rows?: PendingRead['rows']): GatewayError {
  const { left, limit, needed, upstream } = shortage;
  const requests = needed === 1 ? '1 upstream request' : `${needed} upstream requests`;
  return new GatewayError(
    'OPERATION_TOO_EXPENSIVE',
    `Needs ${requests}; ${left} of ${limit} remain for this operation. ${advice(shortage, rows)}`,
    { details: { upstream, limit, needed, left } },
  );
}

function advice({ left, limit, needed }: Shortage, rows: PendingRead['rows']): string {
  if (rows === 'whole') {
    return 'A search, a filter or an order reads all pages of a list. Request the list in its own order, page by page: pages that are cached cost nothing.';
  }
  if (rows !== undefined && needed - left > 0) {
    return `Request ${(needed - left) * rows} fewer items.`;
  }
  if (left > 0) return `Request at most ${left} items.`;
  return limit === 1
    ? 'Send it as a separate operation.'
    : `Send it as a separate operation with at most ${limit} items.`;
}
