import { inBackground } from '../at-once.ts';
import { GatewayError, type UpstreamName, upstreamTitle } from '../errors.ts';
import { loopTurns } from '../loop-turns.ts';

/** A read that the cache does not answer, before it is decided whether a request is made for it. */
export interface Wish<T> {
  readonly upstream: UpstreamName;
  /** What it is judged together with: all of one operation that are wished for in the same turn. */
  readonly batch: string;
  /** Equal reads are one request. */
  readonly key: string;
  /** Rows that come with it, where it is a further page of a window. */
  readonly rows?: number | undefined;
  /** Whether an older answer is at hand that would do. */
  readonly hasCopy: boolean;
  /** Most requests that the operation may make to this upstream. */
  readonly limit: () => number;
  /** Whether a request in flight will answer it, at no cost. */
  readonly isShared: () => boolean;
  /** Makes the request, or joins the one in flight. */
  readonly begin: () => Promise<T>;
}

/** A wish, and the means to grant or refuse it. */
interface Waiting extends Wish<unknown> {
  readonly resolve: (answer: Promise<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads that are refused in one turn of the event loop. */
const REFUSED_A_TURN = 500;

/**
 * What one operation may spend on each upstream, and has set aside. Reads that come out of the same rows
 * are wished for in one turn and judged as one batch: either all of them fit, or none is sent, since a
 * part of them would spend the budget of everybody and still be no answer.
 */
export class Spending {
  readonly #setAside: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  #batches = new Map<string, Waiting[]>();

  /**
   * Sets aside one request that is judged alone, such as a write.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` when `limit` are set aside already.
   */
  take(upstream: UpstreamName, limit: number): void {
    const left = limit - this.#setAside[upstream];
    if (left < 1) throw tooExpensive({ upstream, limit, needed: 1, left: 0 });
    this.#setAside[upstream] += 1;
  }

  /** Gives back what was set aside for a request that need not leave after all. */
  giveBack(upstream: UpstreamName): void {
    this.#setAside[upstream] -= 1;
  }

  /**
   * Begins a read if its batch fits into what is left. The first of a batch that is refused is told all about
   * it, the others only that they are refused with it: they can be hundreds.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE`, also for one with a copy where all that is left is
   * spent on those without.
   */
  wish<T>(wish: Wish<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#batches.size === 0) afterThisTurn(() => this.#judge());
      const name = `${wish.upstream} ${wish.batch}`;
      const batch = this.#batches.get(name) ?? [];
      this.#batches.set(name, batch);
      batch.push({ ...wish, resolve: (answer) => resolve(answer as Promise<T>), reject });
    });
  }

  #judge(): void {
    const batches = [...this.#batches.values()];
    this.#batches = new Map();
    for (const batch of batches) this.#judgeBatch(batch);
  }

  #judgeBatch(batch: readonly Waiting[]): void {
    const [first] = batch as [Waiting, ...Waiting[]];
    const { rows, upstream } = first;
    const limit = first.limit();
    const left = Math.max(0, limit - this.#setAside[upstream]);
    const needed = new Set(
      batch.filter((each) => !each.hasCopy && !each.isShared()).map(({ key }) => key),
    ).size;
    const refusal = refusals({ upstream, limit, needed: Math.max(1, needed), left }, rows);
    // Those with a copy share what the others leave.
    const inOrder = [...batch.filter((each) => !each.hasCopy), ...batch.filter(hasCopy)];
    const refused: Waiting[] = [];
    for (const each of inOrder) {
      if (each.isShared()) this.#begin(each);
      else if (needed <= left && this.#setAside[upstream] < limit) {
        this.#setAside[upstream] += 1;
        this.#begin(each);
      } else refused.push(each);
    }
    // Each becomes an error of its own in the answer, and others wait for the event loop.
    inBackground(loopTurns.each(refused, REFUSED_A_TURN, ({ reject }) => reject(refusal())));
  }

  #begin({ begin, reject, resolve }: Waiting): void {
    try {
      resolve(begin());
    } catch (error) {
      reject(error);
    }
  }
}

function hasCopy(wish: Waiting): boolean {
  return wish.hasCopy;
}

/** What the rows of an answer lead to is asked for before its promises have all been run. */
function afterThisTurn(task: () => void): void {
  inBackground(Promise.resolve().then(() => process.nextTick(task)));
}

/** How much was wanted, and how much there is. */
interface Shortage {
  readonly upstream: UpstreamName;
  readonly limit: number;
  readonly needed: number;
  readonly left: number;
}

/** The errors of one batch: the whole story for the first that is refused, then a word for each. */
function refusals(shortage: Shortage, rows: number | undefined): () => GatewayError {
  const { upstream } = shortage;
  let told: GatewayError | null = null;
  let brief: GatewayError | null = null;
  return () => {
    if (told) {
      brief ??= new GatewayError('OPERATION_TOO_EXPENSIVE', 'Refused with a field before.', {
        details: { upstream },
      });
      return brief;
    }
    told = tooExpensive(shortage, rows);
    return told;
  };
}

function tooExpensive(shortage: Shortage, rows?: number): GatewayError {
  const { left, limit, needed, upstream } = shortage;
  const requests = needed === 1 ? '1 request' : `${needed} requests`;
  const title = upstreamTitle[upstream];
  const api = title.charAt(0).toLowerCase() + title.slice(1);
  return new GatewayError(
    'OPERATION_TOO_EXPENSIVE',
    `This takes ${requests} to ${api}, and of the ${limit} that an operation may make ${left} are left. ${advice(shortage, rows)}`,
    { details: { upstream, limit, needed, left } },
  );
}

function advice({ left, limit, needed }: Shortage, rows: number | undefined): string {
  if (rows !== undefined && needed - left > 0) {
    return `Ask for ${(needed - left) * rows} rows less.`;
  }
  if (left > 0) return `Ask for at most ${left} of them at once.`;
  return limit === 1
    ? 'Ask for it in an operation of its own.'
    : `Ask for them in an operation of their own, at most ${limit} at once.`;
}
