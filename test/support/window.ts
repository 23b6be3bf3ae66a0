/** The most requests that came in within any interval of one window, over a log in order of arrival, in milliseconds. */
export function mostArrivals(
  requests: readonly { readonly at: number }[],
  windowMs: number,
): number {
  let most = 0;
  let first = 0;
  for (const [index, { at }] of requests.entries()) {
    while ((requests[first]?.at ?? at) <= at - windowMs) first += 1;
    most = Math.max(most, index + 1 - first);
  }
  return most;
}
