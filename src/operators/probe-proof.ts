import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** For how long a proof is taken, in milliseconds: as far as two clocks may be apart. */
const GOOD_FOR_MS = 60_000;
/** The scheme of the `Authorization` header. */
const SCHEME = 'Upstream-Key-Proof';
const PROOF = new RegExp(
  `^${SCHEME} (\\d{1,15}) ([\\da-f]{32}) ([\\da-f]{64})(?: ([\\da-f]{64}))?$`,
);
/** Maximum number of proofs within that time: more are rejected, so that none works twice. */
const MOST_PROOFS = 1000;

/**
 * The `Authorization` header by which a process shows that it has an upstream key, without sending the key. A holder
 * of the key can spend its rate limit anyway. `wallMs` is the time; `secrets` are one or two keys, none of them empty.
 */
export function proofOf(secrets: readonly string[], wallMs: number): string {
  const said = `${Math.round(wallMs)} ${randomBytes(16).toString('hex')}`;
  return `${SCHEME} ${said} ${secrets.map((secret) => macOf(secret, said)).join(' ')}`;
}

/** Accepts each proof once. */
export class Proofs {
  /** The times of those that were used, by their random part. */
  readonly #used = new Map<string, number>();

  /** Whether a header proves that its sender has one of the keys. The same header proves nothing a second time. */
  accept(header: string | undefined, secrets: readonly string[], wallMs: number): boolean {
    const [, time, nonce = '', ...macs] = PROOF.exec(header ?? '') ?? [];
    const at = Number(time);
    if (!(Math.abs(wallMs - at) <= GOOD_FOR_MS)) return false;
    const given = macs.map((mac) => Buffer.from(mac ?? ''));
    const isProved = secrets.some((secret) => {
      const wanted = Buffer.from(macOf(secret, `${time} ${nonce}`));
      return given.some((mac) => mac.length === wanted.length && timingSafeEqual(mac, wanted));
    });
    return isProved && this.#use(nonce, at, wallMs);
  }

  #use(nonce: string, at: number, wallMs: number): boolean {
    for (const [used, usedAt] of this.#used) {
      if (wallMs - usedAt > GOOD_FOR_MS) this.#used.delete(used);
    }
    if (this.#used.has(nonce) || this.#used.size >= MOST_PROOFS) return false;
    this.#used.set(nonce, at);
    return true;
  }
}

function macOf(secret: string, said: string): string {
  return createHmac('sha256', secret).update(`probe ${said}`).digest('hex');
}
