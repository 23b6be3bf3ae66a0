/** The times of the protocol between replicas, in milliseconds. */
export interface ProtocolTimes {
  /** For how long after its latest beat others wait for a replica. */
  readonly leaseMs: number;
  /** From one beat to the next. */
  readonly beatMs: number;
  /** Timeout of a command. */
  readonly callMs: number;
  /** For how long after a claim was sent a request may be sent with its permit. */
  readonly sendByMs: number;
  /**
   * By how much the clock of Redis may be ahead of a replica's expectation before that counts as a jump: delayed
   * commands look the same.
   */
  readonly slackMs: number;
  /** How much longer than its window a slot counts: more than a jump that is not noticed. */
  readonly marginMs: number;
}

/** More than the duration of a round trip without delay. */
const ROUND_TRIP_MS = 150;

/** The times for upstreams of these windows: short windows want short leases, or an outage would outlast many. */
export function protocolTimes(windowsMs: readonly number[]): ProtocolTimes {
  const shortest = Math.min(...windowsMs);
  const between = (ms: number, least: number, most: number): number =>
    Math.round(Math.min(most, Math.max(least, ms)));
  const marginMs = between(shortest / 120, 250, 500);
  const leaseMs = between(shortest / 4, 500, 1250);
  return {
    leaseMs,
    beatMs: Math.round(0.3 * leaseMs),
    callMs: Math.round(leaseMs / 2),
    sendByMs: between(0.15 * shortest, 300, 3000),
    slackMs: marginMs - ROUND_TRIP_MS,
    marginMs,
  };
}

/**
 * For how long requests sent before Redis lost its data can count: the delay after a claim, the timeout, and the
 * window.
 */
export function holdMs(
  { marginMs, sendByMs }: ProtocolTimes,
  { windowMs, timeoutMs }: { readonly windowMs: number; readonly timeoutMs: number },
): number {
  return windowMs + marginMs + sendByMs + timeoutMs;
}
