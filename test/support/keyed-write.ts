import type { KeyedWrite } from '../../src/observe/events.ts';

/** The end of a write as the gateway emits it, with these differences. */
export function keyedWrite(different: Partial<KeyedWrite> = {}): KeyedWrite {
  return {
    upstream: 'LINKS',
    mutation: 'createChannel',
    outcome: 'executed',
    key: '0a1b2c3d',
    asker: { requestId: 'call-1', operation: 'Save' },
    caller: 'web',
    reads: 0,
    settlesAt: null,
    ...different,
  };
}
