import { FIRST_ABREAST, type KeyBudget, type Rules } from './document.ts';
import { used } from './slots.ts';

/** This many windows after a sign of a co-tenant, requests are sent in parallel again. */
export const CO_TENANT_REMEMBERED_WINDOWS = 10;
/** For this time after a response, its rate-limit headers are taken as current. */
const HEARD_MS = 250;
/** How long the others wait for a response before one more is sent; doubles until one arrives. */
const PROBE_MS = 1000;

/*
 * How many requests are sent in parallel while it is unknown what remains of the window, so that few of them are
 * refused together. After a refusal one goes as a probe, and after a start two; with a co-tenant, two go first,
 * one more with each successful response, and never more than half of what remains. A key without co-tenants needs
 * no such care: its leases are all requests.
 */

/**
 * Milliseconds for which the next request waits for the responses of `wire` others, with `reserved` that go before
 * it; 0 if it may go. A write does not wait for reads that went as probes.
 */
export function cautionMs(
  b: KeyBudget,
  rules: Rules,
  now: number,
  next: { readonly isWrite: boolean; readonly wire: number; readonly reserved: number },
): number {
  const most = allowed(b, rules, now, next.wire) + (next.isWrite ? 1 : 0);
  if (next.wire + next.reserved < most) return 0;
  return Math.max(0, (b.caution.oneMoreAt ?? now) - now);
}

/** Whether requests are held because some would be refused, and not only because a response is pending. */
export function isStrict(b: KeyBudget, rules: Rules, now: number): boolean {
  return b.caution.blind || coTenantAbout(b, rules, now);
}

/** A request goes while `wire` others are on the wire. */
export function sends(b: KeyBudget, rules: Rules, now: number, wire: number): void {
  const { caution } = b;
  if (wire === 0) {
    if (isSilent(b, now)) caution.abreast = FIRST_ABREAST;
    caution.unanswered = 0;
  } else if (now < (caution.oneMoreAt ?? now) || wire < allowed(b, rules, now, wire)) {
    return;
  } else {
    caution.unanswered += 1;
  }
  caution.oneMoreAt = now + PROBE_MS * 2 ** caution.unanswered;
}

/** A response arrived; `remaining`: it contained how much is left of the window. */
export function heard({ caution }: KeyBudget, now: number, remaining: boolean): void {
  caution.heardAt = now;
  caution.unanswered = 0;
  caution.oneMoreAt = now + PROBE_MS;
  caution.remainingHeard ||= remaining;
}

/** A request was taken that left after the latest pause. */
export function accepted({ caution }: KeyBudget): void {
  caution.abreast = caution.blind ? FIRST_ABREAST : caution.abreast + 1;
  caution.blind = false;
}

/** There are signs of requests of another program. */
export function coTenantSeen(b: KeyBudget, rules: Rules, now: number): void {
  if (!coTenantAbout(b, rules, now)) b.caution.abreast = FIRST_ABREAST;
  b.caution.coTenantAt = now;
}

/** How long `before` requests take to be sent before another one, if all responses are successful; an estimate. */
export function abreastMs(
  b: KeyBudget,
  rules: Rules,
  now: number,
  { before, wire }: { readonly before: number; readonly wire: number },
): number {
  const most = mostAbreast(b, wire);
  let abreast = allowed(b, rules, now, wire);
  let rounds = 0;
  for (let left = before + wire; left >= abreast; rounds += 1) {
    // Without a co-tenant, nothing holds them after the first successful response.
    if (!coTenantAbout(b, rules, now)) return b.latencyMs;
    left -= abreast;
    if (abreast >= most) return (rounds + 1 + Math.floor(left / most)) * b.latencyMs;
    abreast = Math.min(most, Math.max(FIRST_ABREAST, 2 * abreast));
  }
  return rounds * b.latencyMs;
}

/** How many may be on the wire now. */
function allowed(b: KeyBudget, rules: Rules, now: number, wire: number): number {
  const { abreast, blind, coTenantAt } = b.caution;
  if (blind) return coTenantAt === null ? FIRST_ABREAST : 1;
  if (coTenantAt === null) return Infinity;
  const sideBySide = wire === 0 && isSilent(b, now) ? FIRST_ABREAST : abreast;
  if (coTenantAbout(b, rules, now)) return Math.min(sideBySide, mostAbreast(b, wire));
  // A co-tenant that was silent for long may be back: one successful response shows that it is not.
  return sideBySide === FIRST_ABREAST ? FIRST_ABREAST : Infinity;
}

/** Half of what is left: the other half is for co-tenants' requests that arrive before ours. */
function mostAbreast(b: KeyBudget, wire: number): number {
  if (!b.caution.remainingHeard) return FIRST_ABREAST;
  const free = Math.max(0, b.limit - used(b));
  return Math.max(1, Math.ceil((free + wire) / 2));
}

function coTenantAbout({ caution }: KeyBudget, { windowMs }: Rules, now: number): boolean {
  if (caution.coTenantAt === null) return false;
  return now - caution.coTenantAt < CO_TENANT_REMEMBERED_WINDOWS * windowMs;
}

function isSilent({ caution }: KeyBudget, now: number): boolean {
  return caution.heardAt === null || now - caution.heardAt >= HEARD_MS;
}
