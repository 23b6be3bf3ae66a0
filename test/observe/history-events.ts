import type { OperationRecord } from '../../src/observe/events.ts';
import { History } from '../../src/observe/history/history.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A request that leaves, and is answered at once. */
interface Sent {
  readonly lane?: 'write' | 'interactive' | 'refresh';
  readonly caller?: string;
  readonly callerClass?: string;
  readonly operation?: string | null;
  readonly resource?: string;
  readonly upstream?: 'LINKS' | 'MARKET';
  readonly code?: 'OK' | 'LATE' | 'REFUSED' | 'UPSTREAM_TIMEOUT';
}

/** A history in a time that a test moves, with what lets requests leave and operations end in it. */
export function createHistory(clock = new VirtualClock()) {
  const history = new History(clock, () => true);
  const leave = (sent: Sent): ((code: NonNullable<Sent['code']>) => void) => {
    const { lane = 'interactive', operation = 'Dashboard' } = sent;
    const request = {
      sentAt: clock.now(),
      upstream: sent.upstream ?? 'LINKS',
      method: 'GET',
      resource: sent.resource ?? 'channels',
      operation: {},
      asker: { requestId: 'r', operation },
      caller: lane === 'refresh' ? null : (sent.caller ?? 'a'),
      callerClass: lane === 'refresh' ? null : (sent.callerClass ?? 'default'),
      lane,
      renews: lane === 'refresh',
    };
    history.requestSent(request);
    return (code) =>
      history.requestEnded({ at: clock.now(), request, outcome: { code, durationMs: 1 } });
  };
  const send = (sent: Sent = {}): void => leave(sent)(sent.code ?? 'OK');
  const end = (name: string | null, more: Partial<OperationRecord> = {}): void => {
    const answered = { status: 200, codes: [], outcome: 'ok', durationMs: 0 } as const;
    const cost = { calls: 1, saved: 2, waitedMs: 0, stale: 0, maxAgeMs: 0 };
    const known = { requestId: 'r', name, type: 'query', caller: 'a' } as const;
    const record = { ...known, ...answered, ...cost, ...more };
    history.operationEnded({ at: clock.now(), operation: null, record });
  };
  return { clock, history, leave, send, end };
}
