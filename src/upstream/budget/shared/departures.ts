import type { PermitOutcome } from '../../../observe/events.ts';
import type { SwapMoment } from '../../../redis/shared-document.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import { inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { Stamp } from '../../request.ts';
import type { Feedback } from '../../wire/rate-limit-headers.ts';
import type { SharedResult, Slot, SlotRequest } from '../budget.ts';
import type { SharedLedger } from './shared-ledger.ts';
import { endingOf } from './wants.ts';

/** What sending with permits needs of the world. */
export interface DeparturesOptions {
  readonly clock: Clock;
  readonly ledger: SharedLedger;
  readonly times: ProtocolTimes;
  /** What an answer is stored with that is asked for with a permit of this claim. */
  readonly stampOf: (claim: SwapMoment) => Stamp;
  readonly observer: (outcome: PermitOutcome) => void;
}

/** A permit that a claim has brought. */
export interface Granted {
  readonly id: string;
  readonly claim: SwapMoment;
}

/** Told of how a slot ended. `noted` resolves once the ledger knows. */
interface SlotListener {
  released(): void;
  ended(refused: boolean, noted: Promise<void>): void;
}

/** Makes slots of permits, and tells the ledger how they end. */
export class Departures {
  readonly #options: DeparturesOptions;

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /** The slot of a request that has got a permit, which is renewed for as long as a lengthy request lasts. */
  slot(request: SlotRequest, { claim, id }: Granted, listener: SlotListener): Slot {
    const { clock, ledger, observer, stampOf, times } = this.#options;
    const cancelRenewal = request.lengthy ? this.#renew(id) : () => {};
    return {
      kind: 'slot',
      id,
      stamp: stampOf(claim),
      // Both clocks: one stands still while a machine sleeps, the other can be set back.
      mayLeave: () =>
        clock.now() - claim.sent.now < times.sendByMs &&
        clock.wall() - claim.sent.wall < times.sendByMs,
      release: () => {
        cancelRenewal();
        observer('unsent');
        inBackground(ledger.giveBack(id));
        listener.released();
      },
      end: (feedback: Feedback, result?: SharedResult) => {
        cancelRenewal();
        const ended = endingOf(request, { feedback, result }, claim.epoch);
        listener.ended(feedback.refused !== undefined, ledger.ended(id, ended));
      },
    };
  }

  /** Keeps a permit for as long as its request lasts, until the answer is called. */
  #renew(id: string): () => void {
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
