import { type Feedback, LONGEST_PAUSE_WINDOWS } from '../../wire/rate-limit-headers.ts';
import { uncountToday } from './callers/quotas.ts';
import { accepted, coTenantSeen, heard } from './caution.ts';
import type { HeldSlot, KeyBudget, Rules } from './document.ts';
import { addAnswered, addCoTenants, addHeld, coTenants } from './slots.ts';

/** First pause after a refusal without a retry time; doubles with each refusal in a row. */
const FIRST_PAUSE_MS = 1000;

/** How a request has ended. */
export interface Ending {
  readonly id: string;
  readonly owner: string;
  readonly feedback: Feedback;
  /** Time since its end, in milliseconds. */
  readonly agoMs?: number;
  /** Kept with its slot from now on. */
  readonly flight?: unknown;
}

/** Information from a response. */
export interface Learnt {
  /** Number of requests of co-tenants. */
  readonly foreign: number;
  /** Whether it starts a pause. */
  readonly pauses: boolean;
}

const nothing: Learnt = { foreign: 0, pauses: false };

/**
 * A request has ended: its slot counts for another window, from the end of its response. A repeated report, or one
 * for an unknown slot, has no effect.
 */
export function endSlot(b: KeyBudget, rules: Rules, now: number, ending: Ending): Learnt {
  const { agoMs = 0, feedback, flight, id, owner } = ending;
  const endedAt = now - agoMs;
  const until = endedAt + rules.windowMs + rules.marginMs;
  const slot = takeHeld(b, id);
  if (!slot && b.answered.some((each) => each.id === id)) return nothing;
  const learnt = slot ? learn(b, rules, now, slot, feedback) : nothing;
  if (slot && feedback.resetInMs !== null) b.upstreamResetAt = endedAt + feedback.resetInMs;
  const grantedAt = slot?.grantedAt ?? endedAt;
  if (slot && !slot.lengthy) b.latencyMs += (Math.max(0, endedAt - grantedAt) - b.latencyMs) / 8;
  const kept = flight ?? slot?.flight;
  addAnswered(b, {
    id,
    owner,
    until,
    grantedAt,
    endedAt,
    ...(slot?.caller !== undefined && { caller: slot.caller }),
    ...(slot?.bulk && { bulk: true as const }),
    ...(kept !== undefined && { flight: kept }),
  });
  return learnt;
}

/** A request was not sent: its slot is free immediately. */
export function cancelSlot(b: KeyBudget, id: string): void {
  const cancelled = takeHeld(b, id);
  if (!cancelled) return;
  if (cancelled.caller !== undefined) uncountToday(b, cancelled.caller);
  // It was counted as one that the upstream can count.
  for (const slot of b.held) slot.countable -= 1;
}

/** A lengthy request is still running. */
export function renewSlot(
  b: KeyBudget,
  rules: Rules,
  now: number,
  id: string,
  owner: string,
): void {
  const slot = b.held.find((each) => each.id === id);
  if (!slot) addHeld(b, rules, now, { id, owner, lengthy: true });
  else if (rules.holdMs !== null) slot.until = now + rules.holdMs;
}

/** Processes the information of a response about the limit, the remaining requests and refusals. */
function learn(
  b: KeyBudget,
  rules: Rules,
  now: number,
  slot: HeldSlot,
  feedback: Feedback,
): Learnt {
  const { limit, refused, remaining } = feedback;
  if (limit !== null && limit > 0) b.limit = limit;
  const foreign =
    remaining === null ? 0 : learnRemaining(b, rules, now, { slot, feedback, remaining });
  heard(b, now, remaining !== null);
  const isCurrent = slot.era === b.pause.era;
  if (refused) {
    pause(b, rules, now, { askedMs: refused.retryAfterMs ?? feedback.resetInMs, isCurrent });
    b.caution.blind = true;
    // Only a co-tenant or a lower limit explains a refusal.
    coTenantSeen(b, rules, now);
  } else if (isCurrent) {
    b.pause.refusals = 0;
    accepted(b);
  }
  return { foreign, pauses: refused !== undefined && isCurrent };
}

/**
 * Compares the announced remaining requests with the slots. If fewer remain than the slots show, the announced number
 * is used; if more, it is ignored, so that the sliding window is never exceeded.
 *
 * Implements: Link API > Limits.
 */
function learnRemaining(
  b: KeyBudget,
  rules: Rules,
  now: number,
  of: { readonly slot: HeldSlot; readonly feedback: Feedback; readonly remaining: number },
): number {
  const { refused, resetInMs } = of.feedback;
  // From here on, earlier requests are known. A response that announces the whole limit has not counted its own
  // request.
  if (of.remaining < b.limit) b.unknownUntil = null;
  const foreign = b.limit - of.remaining - of.slot.countable - coTenants(b);
  if (foreign <= 0) return 0;
  // Requests that are missing at the first response may be our own, from before a restart: they count for a whole
  // sliding window. Later ones are a co-tenant's, and last until the upstream's window begins again.
  const { remainingHeard } = b.caution;
  const lasts = remainingHeard ? (resetInMs ?? refused?.retryAfterMs ?? rules.windowMs) : Infinity;
  addCoTenants(b, foreign, now + Math.min(lasts, rules.windowMs));
  if (remainingHeard) coTenantSeen(b, rules, now);
  return foreign;
}

/**
 * Pauses for the time that the upstream announces, up to three windows, and longer after each pause that was too short.
 * Requests that were in flight together are refused together, which counts as one refusal.
 */
function pause(
  { pause: it }: KeyBudget,
  { windowMs }: Rules,
  now: number,
  { askedMs, isCurrent }: { readonly askedMs: number | null; readonly isCurrent: boolean },
): void {
  let ms = askedMs ?? 0;
  if (isCurrent) {
    const guessMs = Math.min(windowMs, FIRST_PAUSE_MS * 2 ** it.refusals);
    if (askedMs === null || it.refusals > 0) ms = Math.max(ms, guessMs);
    it.refusals += 1;
    it.era += 1;
  }
  const pauseMs = Math.min(Math.max(ms, 1), LONGEST_PAUSE_WINDOWS * windowMs);
  it.until = Math.max(it.until ?? now, now + pauseMs);
}

function takeHeld(b: KeyBudget, id: string): HeldSlot | undefined {
  const at = b.held.findIndex((slot) => slot.id === id);
  return at < 0 ? undefined : b.held.splice(at, 1)[0];
}
