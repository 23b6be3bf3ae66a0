import { type KeyBudget, leftByRefreshes, type Rules, refreshBurst } from './document.ts';

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
  return Math.min(refreshBurst(b.limit), tokens + (now - at) / refreshEveryMs(b, rules));
}

function refreshEveryMs({ limit }: KeyBudget, { windowMs }: Rules): number {
  return windowMs / refreshesPerWindow(limit);
}
