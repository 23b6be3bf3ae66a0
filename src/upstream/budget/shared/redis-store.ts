import type { PermitOutcome } from '../../../observe/events.ts';
import { RedisRefused, RedisUnavailable } from '../../../redis/failures.ts';
import type { SwapMoment } from '../../../redis/shared-document.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import { inBackground } from '../../../scheduling/at-once.ts';
import { type Clock, momentOf } from '../../../scheduling/clock.ts';
import type { Stamp } from '../../request.ts';
import type { Slot, SlotRequest } from '../budget.ts';
import type { BudgetView } from '../law/availability.ts';
import type { Rules } from '../law/document.ts';
import type { BudgetStore, Claimed, Queue, QueuedWant } from '../store.ts';
import type { SharedWant } from './shared-claim.ts';
import type { SharedLedger } from './shared-ledger.ts';

/** What a budget that replicas share needs of the world. */
interface RedisStoreOptions {
  readonly clock: Clock;
  readonly ledger: SharedLedger;
  readonly times: ProtocolTimes;
  /** A name for the next permit, unlike all others. */
  readonly nextId: () => string;
  /** Whether nothing can be asked of the ledger, for longer than a moment. */
  readonly isOut: () => boolean;
  /** Milliseconds for which nothing is sent, since it is not known what was. */
  readonly quarantineMs: () => number;
  /** What stands for a caller where others can read. */
  readonly nameOf: (caller: string) => string;
  /** What an answer is stored with that is asked for with a permit of this claim. */
  readonly stampOf: (claim: SwapMoment) => Stamp;
  readonly observer: (outcome: PermitOutcome) => void;
}

/** While slots are waited for, newcomers are claimed for at most once in this many milliseconds. */
const PACE_MS = 50;

/**
 * Keeps the budget of a key that several replicas share, in Redis. A claim asks for permits, which are given to those
 * whose turn it is over all replicas; a permit is a slot here.
 */
export class RedisStore implements BudgetStore {
  readonly answersInMs: number;
  readonly rules: Rules;
  readonly nameOf: (caller: string) => string;
  readonly #options: RedisStoreOptions;
  readonly holder: SharedLedger;

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    this.holder = options.ledger;
    this.answersInMs = options.times.callMs;
    this.rules = options.ledger.rules;
    this.nameOf = options.nameOf;
  }

  get view(): BudgetView {
    const { isOut, quarantineMs } = this.#options;
    const { bids, holdMs, isAlive, rules, standing } = this.holder;
    // Whatever Redis knows when it is back, nothing of it is older than that.
    const heldMs = Math.max(quarantineMs(), isOut() ? holdMs : 0);
    return { ...standing, rules, heldMs, bids: [...bids.values()], isAlive };
  }

  async claim(queue: Queue): Promise<Claimed> {
    const { clock, nextId, observer, times } = this.#options;
    // What is asked for in one turn is claimed for together.
    await Promise.resolve();
    const { waits, wants } = queue.wanted();
    const wanted = wants.map((want) => ({ request: want.request, want: wantOf(want, nextId()) }));
    if (wanted.length === 0) return { taken: [], againAt: Infinity, newcomersAt: -Infinity };
    const newcomersAt = clock.now() + PACE_MS;
    try {
      const claim = await this.holder.claim(
        wanted.map(({ want }) => want),
        waits,
      );
      const { stopMs, verdicts } = claim.result;
      const taken = wanted.map(({ request, want }, at) => {
        const verdict = verdicts[at];
        if (!verdict) return { request, got: null };
        observer(verdict);
        return {
          request,
          got: verdict === 'go' ? this.#slotOf(request, want.id, claim, queue) : verdict,
        };
      });
      return { taken, againAt: clock.now() + stopMs, newcomersAt };
    } catch (error) {
      if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) throw error;
      // What was claimed may have been given: these permits are not used, whenever that shows.
      if (error instanceof RedisUnavailable && error.doubtful) {
        for (const { want } of wanted) {
          observer('doubtful');
          inBackground(this.holder.giveBack(want.id));
        }
      }
      const taken = wanted.map(({ request }) => ({ request, got: null }));
      return { taken, againAt: clock.now() + times.beatMs, newcomersAt };
    }
  }

  #slotOf(request: SlotRequest, id: string, claim: SwapMoment, queue: Queue): Slot {
    const { clock, observer, stampOf, times } = this.#options;
    const { lengthy, sharing } = request;
    const ledger = this.holder;
    const cancelRenewal = lengthy ? this.#renew(id) : () => {};
    return {
      kind: 'slot',
      id,
      stamp: stampOf(claim),
      // Both clocks: one stands still while a machine sleeps, the other can be set back.
      mayLeave: () => {
        const { now, wall } = momentOf(clock);
        return Math.max(now - claim.sent.now, wall - claim.sent.wall) < times.sendByMs;
      },
      release: () => {
        cancelRenewal();
        observer('unsent');
        inBackground(ledger.giveBack(id));
        queue.freed(false);
      },
      end: (feedback, result) => {
        cancelRenewal();
        const noted = ledger.ended(id, {
          epoch: claim.epoch,
          feedback,
          ...(sharing?.key === undefined ? {} : { key: sharing.key }),
          kept: result?.kind === 'shared',
          ...(result?.kind === 'failed' ? { code: result.code } : {}),
          ...(result?.kind === 'nothing' ? { withdraw: true } : {}),
        });
        queue.freed(feedback.refused !== undefined, noted);
      },
    };
  }

  /** Keeps a permit for as long as its request lasts, until the answer is called. */
  #renew(id: string): () => void {
    const { clock, ledger } = this.#options;
    let cancel = (): void => {};
    let isOver = false;
    // One that does not get through is tried again by itself: another beside it would be told the same.
    const renew = async (): Promise<void> => {
      await ledger.renew(id);
      if (!isOver) renewLater();
    };
    const renewLater = (): void => {
      cancel = clock.after(ledger.holdMs / 4, () => inBackground(renew()));
    };
    renewLater();
    return () => {
      isOver = true;
      cancel();
    };
  }
}

/** A request as it is claimed for. */
function wantOf({ caller, request, rushPast }: QueuedWant, id: string): SharedWant {
  const { lane, lengthy, sharing } = request;
  const { key, newerThan, tags = [], ttlMs = 0 } = sharing ?? {};
  const newer = newerThan?.() ?? 0;
  const isSought = key !== undefined && lane !== 'write' && newer !== Infinity;
  return {
    id,
    lane,
    caller,
    ...(key === undefined ? {} : { key }),
    ...(isSought ? { sought: { key, tags, ttlMs, newer } } : {}),
    ...(lane === 'write' ? { touches: tags } : {}),
    ...(lengthy ? { lengthy } : {}),
    ...(rushPast === undefined ? {} : { rushPast }),
  };
}
