import type { KeyBudget, Rules } from './document.ts';

/** Number of slots that refreshes leave free for reads and writes. */
export function leftByRefreshes(limit: number): number {
  return Math.min(limit - 1, Math.max(1, Math.round(limit / 15)));
}

/** How many refreshes fit into a window without reads and writes. */
export function refreshesPerWindow(limit: number): number {
  return Math.max(1, limit - leftByRefreshes(limit));
}

/** Milliseconds until the pace allows a refresh. Refreshes are spread over the window, to leave slots for reads. */
export function refreshMs(b: KeyBudget, rules: Rules, now: number): number {
  return Math.max(0, 1 - tokensAt(b, rules, now)) * refreshEveryMs(b, rules);
}

/** Records a sent refresh. */
export function refreshGoes(b: KeyBudget, rules: Rules, now: number): void {
  b.pace.tokens = tokensAt(b, rules, now) - 1;
  b.pace.at = now;
}

function tokensAt(b: KeyBudget, rules: Rules, now: number): number {
  const { at, tokens } = b.pace;
  // This number may follow each other immediately.
  const most = Math.max(1, Math.floor(b.limit / 6));
  return Math.min(most, tokens + (now - at) / refreshEveryMs(b, rules));
}

function refreshEveryMs({ limit }: KeyBudget, { windowMs }: Rules): number {
  return windowMs / refreshesPerWindow(limit);
}
