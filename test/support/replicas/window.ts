import type { UpstreamRequest } from './upstream.ts';

/** What is known of a request: when it came, in milliseconds. */
type Arrival = Pick<UpstreamRequest, 'at'>;

/** The most requests that came in within any interval of one window, over a log in order of arrival. */
export function mostArrivals(requests: readonly Arrival[], windowMs: number): number {
  return fullestWindow(requests, windowMs).length;
}

/** The requests of the first interval of one window that has the most. */
export function fullestWindow<T extends Arrival>(
  requests: readonly T[],
  windowMs: number,
): readonly T[] {
  let from = 0;
  let to = 0;
  let first = 0;
  for (const [index, { at }] of requests.entries()) {
    while ((requests[first]?.at ?? at) <= at - windowMs) first += 1;
    if (index + 1 - first > to - from) [from, to] = [first, index + 1];
  }
  return requests.slice(from, to);
}

/**
 * The most requests at once of which each is counted from its arrival until one window after its answer
 * ended: what is allowed if the upstream counts a request at any moment that it is about. One whose end
 * was not seen counts to the end of the log.
 */
export function mostHeld(requests: readonly UpstreamRequest[], windowMs: number): number {
  const steps = requests.flatMap(({ at, endedAt }) => [
    { at, step: 1 },
    { at: endedAt + windowMs, step: -1 },
  ]);
  // What ends at a moment makes room for what begins at it.
  steps.sort((a, b) => (a.at === b.at ? a.step - b.step : a.at - b.at));
  let held = 0;
  let most = 0;
  for (const { step } of steps) {
    held += step;
    most = Math.max(most, held);
  }
  return most;
}
