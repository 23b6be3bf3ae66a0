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
  /**
   * How far the clock of Redis may run ahead of what a replica reckons with before that counts as a jump: what
   * commands are delayed on their way looks the same.
   */
  readonly slackMs: number;
  /** How much longer than its window a slot counts: more than a jump that is not noticed. */
  readonly marginMs: number;
}

/** What a round trip takes in which nothing is delayed, and more. */
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
 * For how long nothing is known of what was sent before Redis lost its memory: a request may leave so long after
 * its claim, take so long, and count for so long.
 */
export function holdMs(
  { marginMs, sendByMs }: ProtocolTimes,
  { windowMs, timeoutMs }: { readonly windowMs: number; readonly timeoutMs: number },
): number {
  return windowMs + marginMs + sendByMs + timeoutMs;
}
