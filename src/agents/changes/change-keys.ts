import type { Clock } from '../../scheduling/clock.ts';
import type { OnceRecords } from './once-records.ts';

/** For how long equal changes without a key are one change, in milliseconds. */
const SAME_MS = 10 * 60_000;

/** The caller of a change, and what it is. */
export interface ChangeSubject {
  /** Whose keys are distinguished from those of others. */
  readonly scope: string;
  /** A digest of the caller, the operation and its variables. */
  readonly digest: string;
}

/**
 * Idempotency keys of changes that agents send without one: a connection can break before the result arrives, and agents
 * send the call again. So the same operation with the same variables by the same caller has the same key for ten minutes,
 * on all replicas.
 */
export class ChangeKeys {
  readonly #clock: Clock;
  readonly #records: OnceRecords;

  constructor(clock: Clock, records: OnceRecords) {
    this.#clock = clock;
    this.#records = records;
  }

  /** The key of a change that has none. */
  async keyOf({ digest, scope }: ChangeSubject): Promise<string> {
    const slot = Math.floor(this.#clock.wall() / SAME_MS);
    // A change of the interval before may be less than ten minutes old.
    const before = keyText(digest, slot - 1);
    const ageMs = await this.#records.usedForMs(scope, before, before);
    if (ageMs !== null && ageMs < SAME_MS) return before;
    const own = keyText(digest, slot);
    await this.#records.use(scope, own, own);
    return own;
  }
}

function keyText(digest: string, slot: number): string {
  return `agent-${digest}-${slot.toString(36)}`;
}
