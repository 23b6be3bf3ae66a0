import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Digest } from '../../digest.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { ToolError } from '../tool-error.ts';
import type { ChangeSubject } from './change-keys.ts';
import type { OnceRecords } from './once-records.ts';

/** How long a confirmation is valid, in milliseconds. */
export const CONFIRMED_MS = 5 * 60_000;

const NONCE_BYTES = 9;
/** The HMAC is shorter with Redis. */
const FORMAT = /^([\w-]{12})\.([\da-z]{1,11})\.([\w-]{16,64})$/;

/**
 * Proofs that the price of a change was shown, each for one change: an HMAC of the caller, the operation, its variables
 * and the time. They are valid on all replicas, and no longer after a restart without Redis.
 */
export class Confirmations {
  readonly #clock: Clock;
  readonly #digest: Digest;
  readonly #records: OnceRecords;

  constructor(options: {
    readonly clock: Clock;
    /** An HMAC with a secret that all replicas have. */
    readonly digest: Digest;
    readonly records: OnceRecords;
  }) {
    this.#clock = options.clock;
    this.#digest = options.digest;
    this.#records = options.records;
  }

  /** A new one for a change. */
  issue({ digest }: ChangeSubject): string {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const until = (this.#clock.wall() + CONFIRMED_MS).toString(36);
    return `${nonce}.${until}.${this.#mac(nonce, until, digest)}`;
  }

  /**
   * Accepts a confirmation for a change, which `key` names: it is used for one only, and as often as that is sent again.
   * @throws ToolError `CONFIRMATION_INVALID` for one of another subject, one that is too old, and one that was used.
   */
  async redeem(confirmation: string, subject: ChangeSubject, key: string): Promise<void> {
    const [, nonce = '', until = '', mac] = FORMAT.exec(confirmation) ?? [];
    if (mac === undefined || !areEqual(mac, this.#mac(nonce, until, subject.digest))) {
      throw invalid('is not one for this operation with these variables, by this caller');
    }
    if (Number.parseInt(until, 36) < this.#clock.wall()) {
      throw invalid(`is older than ${CONFIRMED_MS / 60_000} minutes`);
    }
    const use = await this.#records.use(subject.scope, `confirmation ${nonce}`, key);
    if (use === 'OTHER') throw invalid('was used for another change, which has another key');
  }

  #mac(nonce: string, until: string, digest: string): string {
    return this.#digest(`agent confirmation ${nonce} ${until} ${digest}`);
  }
}

function areEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function invalid(reason: string): ToolError {
  return new ToolError(
    'CONFIRMATION_INVALID',
    `The confirmation ${reason}. Nothing was changed. Call graph_price again, show its effects to the person, and send the new confirmation.`,
  );
}
