import type { EventRows, OperationRecord } from '../../src/observe/events.ts';
import { History } from '../../src/observe/history/history.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A history in a time that a test moves. */
export function createHistory(clock = new VirtualClock()) {
  return { clock, history: new History({ clock, isReachable: () => true }) };
}

/** One request that leaves, and is answered at once. */
export function send(
  history: History,
  {
    lane = 'interactive',
    caller = 'a',
    operation = 'Dashboard',
    resource = 'channels',
    code = 'OK',
    upstream = 'LINKS',
  }: {
    lane?: 'write' | 'interactive' | 'refresh';
    caller?: string;
    operation?: string | null;
    resource?: string;
    upstream?: 'LINKS' | 'MARKET';
    code?: 'OK' | 'LATE' | 'REFUSED' | 'UPSTREAM_TIMEOUT';
  } = {},
): void {
  const request = {
    upstream,
    method: 'GET',
    resource,
    operation: {},
    asker: { requestId: 'r', operation },
    caller: lane === 'refresh' ? null : caller,
    lane,
    renews: lane === 'refresh',
  };
  history.requestSent(request);
  history.requestEnded({ request, outcome: { code, durationMs: 1 } });
}

/** What is emitted of an operation that has ended. */
export function ended(
  name: string | null,
  more: Partial<OperationRecord> = {},
): EventRows['operationEnded'] {
  const answered = { status: 200, codes: [], outcome: 'ok', durationMs: 0 } as const;
  const cost = { calls: 1, saved: 2, waitedMs: 0, stale: 0 };
  const known = { requestId: 'r', name, type: 'query', caller: 'a' } as const;
  return { operation: null, record: { ...known, ...answered, ...cost, ...more } };
}
