/**
 * A new idempotency key, for the header `Idempotency-Key`: a UUIDv7, which contains the time at which it was made.
 * Make it when the user decides, and send it with each request for that decision.
 */
export function idempotencyKey(): string {
  // `crypto.randomUUID` does not exist on pages without HTTPS.
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  bytes[0] = ((bytes[0] as number) & 0x0f) | 0x70;
  bytes[2] = ((bytes[2] as number) & 0x3f) | 0x80;
  const random = [...bytes].map((byte) => hex(byte, 2)).join('');
  return (hex(Date.now(), 12) + random).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** What the gateway did for a mutation field with an idempotency key: an entry of `extensions.idempotency`. */
export interface IdempotencyReport {
  readonly path: readonly (string | number)[];
  /**
   * `EXECUTED`: the change was made now. `REPLAYED`: an earlier request with this key has made it. `RECONCILED`: the
   * response of the upstream API was lost, and the gateway has found the change.
   */
  readonly outcome: 'EXECUTED' | 'REPLAYED' | 'RECONCILED';
  /** When the key was first used, as ISO 8601. */
  readonly firstAt: string;
  /** Upstream requests that this response cost for the field. */
  readonly upstreamCalls: number;
}
