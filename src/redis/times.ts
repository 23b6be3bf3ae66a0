/** The times of the protocol between replicas, in milliseconds. */
export interface ProtocolTimes {
  /** So long after its latest beat, others wait for a replica. */
  readonly leaseMs: number;
  /** From one beat to the next. */
  readonly beatMs: number;
  /** Patience with a command. */
  readonly callMs: number;
  /** So long after a claim was sent, a request may leave with its permit. */
  readonly sendByMs: number;
}

/** How much later than Redis says a slot counts: more than the clock of Redis can be ahead of a replica's idea of it. */
export const MARGIN_MS = 250;
/** How far the clock of Redis may run ahead of what a replica reckons with before that counts as a jump. */
export const SLACK_MS = 100;

/** The times for upstreams of these windows: short windows want short leases, or an outage would outlast many. */
export function protocolTimes(windowsMs: readonly number[]): ProtocolTimes {
  const shortest = Math.min(...windowsMs);
  const between = (ms: number, least: number, most: number): number =>
    Math.round(Math.min(most, Math.max(least, ms)));
  const leaseMs = between(shortest / 4, 500, 1000);
  return {
    leaseMs,
    beatMs: Math.round(0.3 * leaseMs),
    callMs: Math.round(leaseMs / 2),
    sendByMs: between(0.15 * shortest, 300, 3000),
  };
}

/**
 * For how long nothing is known of what was sent before Redis lost its memory: a request may leave so long after
 * its claim, take so long, and count for so long.
 */
export function holdMs(
  { sendByMs }: ProtocolTimes,
  { windowMs, timeoutMs }: { readonly windowMs: number; readonly timeoutMs: number },
): number {
  return windowMs + MARGIN_MS + sendByMs + timeoutMs;
}
