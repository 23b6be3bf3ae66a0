import { type Feedback, LONGEST_PAUSE_WINDOWS } from '../../wire/rate-limit-headers.ts';
import { accepted, coTenantSeen, heard } from './caution.ts';
import type { HeldSlot, KeyBudget, Rules } from './document.ts';
import { addAnswered, addCoTenants, coTenants } from './slots.ts';

/** First pause after a refusal without a retry time; doubles with each refusal in a row. */
const FIRST_PAUSE_MS = 1000;

/** How a request has ended. */
export interface Ending {
  readonly id: string;
  readonly feedback: Feedback;
}

/** Information from a response. */
export interface Learnt {
  /** Number of requests of co-tenants. */
  readonly foreign: number;
  /** Whether it starts a pause. */
  readonly pauses: boolean;
}

const nothing: Learnt = { foreign: 0, pauses: false };

/** A request has ended: its slot counts for another window, from the end of its response. */
export function endSlot(b: KeyBudget, rules: Rules, now: number, { feedback, id }: Ending): Learnt {
  const slot = takeHeld(b, id);
  if (!slot) return nothing;
  const learnt = learn(b, rules, now, slot, feedback);
  if (feedback.resetInMs !== null) b.upstreamResetAt = now + feedback.resetInMs;
  const { bulk, caller, grantedAt, lengthy } = slot;
  if (!lengthy) b.latencyMs += (Math.max(0, now - grantedAt) - b.latencyMs) / 8;
  addAnswered(b, {
    id,
    until: now + rules.windowMs,
    grantedAt,
    ...(caller !== undefined && { caller }),
    ...(bulk && { bulk }),
  });
  return learnt;
}

/** A request was not sent: its slot is free immediately. */
export function cancelSlot(b: KeyBudget, id: string): void {
  const cancelled = takeHeld(b, id);
  if (!cancelled) return;
  // It was counted as one that the upstream can count.
  for (const slot of b.held) slot.countable -= 1;
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
