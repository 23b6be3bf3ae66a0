import type { KeyBudget, Lane, Rules } from './document.ts';
import { used } from './slots.ts';

/** Number of requests sent in parallel before the first response, if co-tenants are possible. */
const FIRST_ABREAST = 2;
/** This many windows after a sign of a co-tenant, requests are sent in parallel again. */
export const CO_TENANT_REMEMBERED_WINDOWS = 10;
/** Time after a response for which its rate-limit headers are considered current. */
const HEARD_MS = 250;
/** Time for which the others wait for a response before one more request is sent; doubles until one arrives. */
const PROBE_MS = 1000;

/*
 * Limits the number of parallel requests while the remaining requests of the window are unknown, so that few of them
 * are refused together. After a refusal, one probe is sent, and after a start, two. With a co-tenant, two are sent
 * first, one more with each successful response, and never more than half of the remaining requests. A key without
 * co-tenants needs no caution, because its leases are all its requests.
 */

/**
 * Milliseconds for which the next request waits for the responses of `wire` others; 0 if it may be sent. A write does not
 * wait for reads that are probes.
 */
export function cautionMs(
  b: KeyBudget,
  rules: Rules,
  now: number,
  { lane, wire }: { readonly lane: Lane; readonly wire: number },
): number {
  if (wire < allowed(b, rules, now, wire) + (lane === 'write' ? 1 : 0)) return 0;
  return Math.max(0, (b.caution.oneMoreAt ?? now) - now);
}

/** Records a request that is sent while `wire` others are in flight. */
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

/** Records a response; `remaining` if it contained the remaining requests of the window. */
export function heard({ caution }: KeyBudget, now: number, remaining: boolean): void {
  caution.heardAt = now;
  caution.unanswered = 0;
  caution.oneMoreAt = now + PROBE_MS;
  caution.remainingHeard ||= remaining;
}

/** Records an accepted request that was sent after the latest pause. */
export function accepted({ caution }: KeyBudget): void {
  caution.abreast = caution.blind ? FIRST_ABREAST : caution.abreast + 1;
  caution.blind = false;
}

/** There are signs of requests of another program. */
export function coTenantSeen(b: KeyBudget, rules: Rules, now: number): void {
  if (!coTenantAbout(b, rules, now)) b.caution.abreast = FIRST_ABREAST;
  b.caution.coTenantAt = now;
}

/** Maximum number of requests in flight now. */
function allowed(b: KeyBudget, rules: Rules, now: number, wire: number): number {
  const { abreast, blind, coTenantAt } = b.caution;
  if (blind) return coTenantAt === null ? FIRST_ABREAST : 1;
  if (!coTenantAbout(b, rules, now)) return Infinity;
  const sideBySide = wire === 0 && isSilent(b, now) ? FIRST_ABREAST : abreast;
  if (!b.caution.remainingHeard) return Math.min(sideBySide, FIRST_ABREAST);
  // The other half of the remaining requests is for those of co-tenants that arrive before ours.
  const free = Math.max(0, b.limit - used(b));
  return Math.min(sideBySide, Math.max(1, Math.ceil((free + wire) / 2)));
}

function coTenantAbout({ caution }: KeyBudget, { windowMs }: Rules, now: number): boolean {
  if (caution.coTenantAt === null) return false;
  return now - caution.coTenantAt < CO_TENANT_REMEMBERED_WINDOWS * windowMs;
}

function isSilent({ caution }: KeyBudget, now: number): boolean {
  return caution.heardAt === null || now - caution.heardAt >= HEARD_MS;
}
