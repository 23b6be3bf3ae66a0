import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { History } from '../../src/observe/history/history.ts';
import { createHistory } from '../observe/history-events.ts';
import { QuickClock } from '../support/virtual-clock.ts';

it('a history takes less than a mebibyte, whatever callers call themselves', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const taken = async (): Promise<number> => {
    // What is on the stack of this turn is held by it.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    // What frees the memory of arrays comes a turn after the arrays themselves.
    collect();
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    collect();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const held: History[] = [];
  for (let times = 0; times < MEASURED; times += 1) held.push(await attacked());
  const sends = held[0]?.sends('LINKS').interactive ?? [];
  expect(sends.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(5000);
  const full = await taken();
  held.length = 0;
  const bytes = (full - (await taken())) / MEASURED;
  expect(bytes).toBeLessThan(1024 * 1024);
  expect(bytes).toBeGreaterThan(100_000);
});

/** Several are measured together, since one of them may be held by something else. */
const MEASURED = 3;

/** A history after as many names as callers can make up, each a part of a long document as a parser cuts it. */
async function attacked(): Promise<History> {
  const { clock, send, end, history } = createHistory(new QuickClock());
  for (let n = 0; n < 10_000; n += 1) {
    const document = `${n}${'x'.repeat(5000)}`;
    const name = n % 2 === 0 ? document : document.slice(0, 40);
    const asked = { caller: name, operation: name };
    for (const upstream of ['LINKS', 'MARKET'] as const) {
      send({ ...asked, upstream, resource: `r${n % 40}` });
    }
    history.queue({ upstream: 'LINKS', change: n % 2 === 0 ? 1 : -1 });
    send({ ...asked, code: 'UPSTREAM_TIMEOUT', lane: 'write' });
    end(name, { outcome: 'failed', codes: ['INTERNAL_SERVER_ERROR'] });
    history.reads({ upstream: 'MARKET', resource: 'items', result: 'miss', times: 1 });
    if (n % 40 === 39) await clock.advance(3000);
  }
  return history;
}
