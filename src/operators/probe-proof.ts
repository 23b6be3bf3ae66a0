import { createHmac, timingSafeEqual } from 'node:crypto';

/** For how long a proof is taken, in milliseconds: as far as two clocks may be apart. */
const GOOD_FOR_MS = 60_000;

/** The scheme of the `Authorization` header. */
const SCHEME = 'Upstream-Key-Proof';

/**
 * The `Authorization` header by which a process shows that it has an upstream key, without sending the key. A holder
 * of the key can spend its rate limit anyway. `wallMs` is the time; `secrets` are the keys, none of them empty.
 */
export function proofOf(secrets: readonly string[], wallMs: number): string {
  const at = Math.round(wallMs);
  return `${SCHEME} ${at} ${secrets.map((secret) => macOf(secret, at)).join(' ')}`;
}

/** Whether a header proves that its sender has one of the keys. */
export function isProof(
  header: string | undefined,
  secrets: readonly string[],
  wallMs: number,
): boolean {
  const [scheme, time = '', ...macs] = (header ?? '').split(' ');
  const at = /^\d{1,15}$/.test(time) ? Number(time) : Number.NaN;
  if (scheme !== SCHEME || !(Math.abs(wallMs - at) <= GOOD_FOR_MS)) return false;
  const given = macs.slice(0, 2).map((mac) => Buffer.from(mac));
  return secrets.some((secret) => {
    const wanted = Buffer.from(macOf(secret, at));
    return given.some((mac) => mac.length === wanted.length && timingSafeEqual(mac, wanted));
  });
}

function macOf(secret: string, at: number): string {
  return createHmac('sha256', secret).update(`probe ${at}`).digest('hex');
}
