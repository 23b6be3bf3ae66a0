import { inBackground } from '../../../at-once.ts';
import type { Clock, Moment } from '../../../clock.ts';
import type { PermitOutcome } from '../../../observe/events.ts';
import type { SharedClaim, SharedLedger } from '../../../redis/shared-ledger.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import type { Stamp } from '../../cache/cache.ts';
import type { Attempted, Job, Permit } from '../budget.ts';
import { endedOf } from './wants.ts';

/** What sending with permits needs of the world. */
export interface DeparturesOptions {
  readonly clock: Clock;
  readonly ledger: SharedLedger;
  readonly times: ProtocolTimes;
  /** What an answer is stored with that is asked for with a permit of this claim. */
  readonly stampOf: (claim: SharedClaim) => Stamp;
  readonly observer: (outcome: PermitOutcome) => void;
}

/** Sends requests with permits, and tells the ledger how they end. */
export class Departures {
  readonly #options: DeparturesOptions;

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /** A permit of a claim that was made at a moment. */
  permit(id: string, claim: SharedClaim, claimed: Moment): Permit {
    const { clock, stampOf, times } = this.#options;
    return {
      id,
      stamp: stampOf(claim),
      // Both clocks: one stands still while a machine sleeps, the other can be set back.
      mayLeave: () =>
        clock.now() - claimed.now < times.sendByMs && clock.wall() - claimed.wall < times.sendByMs,
    };
  }

  /**
   * Sends a request with its permit of an epoch. `told` resolves once the ledger knows how it ended: whoever
   * waits for its answer does not wait for that.
   */
  async send(
    job: Job,
    permit: Permit,
    epoch: string,
  ): Promise<{ readonly attempted: Attempted['kind']; readonly told: Promise<void> }> {
    const { ledger, observer } = this.#options;
    const cancelRenewal = job.lengthy ? this.#renew(permit) : () => {};
    const attempted = await job.attempt(permit);
    cancelRenewal();
    const { kind } = attempted;
    if (kind === 'unsent' || kind === 'late') {
      observer('unsent');
      return { attempted: kind, told: ledger.giveBack(permit.id) };
    }
    return { attempted: kind, told: ledger.ended(permit.id, endedOf(job, attempted, epoch)) };
  }

  /** Keeps a permit for as long as its request lasts, until the answer is called. */
  #renew({ id }: Permit): () => void {
    const { clock, ledger } = this.#options;
    let cancel = (): void => {};
    // One that does not get through is tried again by itself: another beside it would be told the same.
    const renew = async (): Promise<void> => {
      await ledger.renew(id);
      if (!isOver) renewLater();
    };
    let isOver = false;
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
