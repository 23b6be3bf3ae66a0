import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/sandbox/http/faults.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { BusyGateway } from '../support/busy-gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { ConsoleStage } from './console-stage.ts';

const stage = new ConsoleStage();

describe('An upstream that fails', () => {
  const fail = async (busy: BusyGateway, times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      await busy.ask(n % 2 === 0 ? '{ pixels { totalCount } }' : '{ plans { name } }');
      await stage.clock.advance(1000);
    }
  };

  it('is shown with its last cause, its start, the failures in a row and the next attempt', async () => {
    const busy = await stage.start();
    await busy.ask('{ account { username } }');
    expect((await stage.look(busy)).failure).toBeNull();
    busy.sandbox.links.fault({ kind: 'error-500' });
    const since = stage.clock.wall();
    await fail(busy, 4);
    expect(await stage.look(busy)).toMatchObject({
      failure: {
        reason: expect.stringMatching(/^HTTP 500 with /),
        since,
        inARow: 4,
        resource: null,
      },
      heldMs: 0,
      reachable: false,
    });
    // The fifth failure opens the breaker for a second, later ones for longer.
    await fail(busy, 6);
    await busy.ask('{ plans { name } }');
    const { failure, heldMs } = await stage.look(busy);
    expect(failure?.inARow).toBe(busy.sandbox.links.requests.length - 1);
    expect(heldMs).toBeGreaterThan(1000);
    await stage.clock.advance(heldMs - 1);
    const before = busy.sandbox.links.requests.length;
    await busy.ask('{ plans { name } }');
    expect(busy.sandbox.links.requests).toHaveLength(before);
    await stage.clock.advance(1);
    busy.sandbox.links.clearFaults();
    // Not the resource of the last failed attempt: other resources are tried before it.
    await busy.ask('{ campaigns { totalCount } }');
    expect(busy.sandbox.links.requests).toHaveLength(before + 1);
    expect(await stage.look(busy)).toMatchObject({ failure: null, heldMs: 0 });
  });

  it('counts neither rejections of the key with failures of the API, nor one cause for another', async () => {
    const busy = await stage.start();
    const { links } = busy.sandbox;
    const failWith = async (fault: Fault, times: number) => {
      links.clearFaults();
      links.fault(fault);
      await fail(busy, times);
      return (await stage.look(busy)).failure;
    };
    expect(await failWith({ kind: 'bad-key' }, 2)).toMatchObject({ inARow: 2, isUniform: true });
    const html = { inARow: 3, isUniform: true, reason: 'HTTP 200 with HTML' };
    expect(await failWith({ kind: 'html' }, 3)).toMatchObject(html);
    const mixed = {
      inARow: 4,
      isUniform: false,
      reason: 'HTTP 404: the web server has nothing at its address',
    };
    expect(await failWith({ kind: 'html', status: 404 }, 1)).toMatchObject(mixed);
    const key = { inARow: 1, isUniform: true, reason: 'API key rejected' };
    expect(await failWith({ kind: 'bad-key' }, 1)).toMatchObject(key);
  });

  it.each([
    [{ kind: 'drop' }, /^(connection lost|cannot be reached) \([A-Z_]+\)$/],
    [{ kind: 'html' }, /^HTTP \d+ with HTML$/],
  ] as const)('is distinguished from an HTTP 500: %o', async (fault, reason) => {
    const busy = await stage.start();
    busy.sandbox.links.fault(fault);
    await fail(busy, 2);
    expect((await stage.look(busy)).failure?.reason).toMatch(reason);
  });

  it('for one resource only is shown with that resource, until a response or for five minutes', async () => {
    const busy = await stage.start({ 'ttl.account': '0' });
    busy.sandbox.links.fault({ kind: 'error-500', path: '/api/pixels' });
    for (let n = 0; n < 3; n += 1) {
      await busy.ask('{ pixels { totalCount } account { username } }');
      await stage.clock.advance(1000);
    }
    const { failure, reachable } = await stage.look(busy);
    expect(failure).toMatchObject({ inARow: 3, resource: 'pixels' });
    expect(reachable).toBe(true);
    await stage.clock.advance(300_000);
    expect((await stage.look(busy)).failure).toBeNull();
  });

  it('is not reported for a key of a caller that is rejected', async () => {
    const busy = await stage.start({ AUTH_MODE: 'passthrough', LINKS_API_KEY: '' });
    const { status } = await busy.ask('{ account { username } }', {
      headers: { authorization: 'Bearer made-up' },
    });
    expect([status, busy.sandbox.links.requests.length]).toEqual([200, 1]);
    expect((await stage.look(busy)).failure).toBeNull();
  });

  it('fails waiting requests whose turn comes before the next attempt', async () => {
    stage.clock = new VirtualClock();
    const sandbox = await startSandbox({ clock: stage.clock, limit: { requests: 6 } });
    const busy = await stage.start({ LINKS_RATE_LIMIT: '6', MAX_WAIT_MS: '300000' }, sandbox);
    const { requests } = busy.sandbox.links;
    busy.sandbox.links.fault({ kind: 'error-500' });
    await fail(busy, 5);
    await stage.clock.advance(1000);
    await fail(busy, 1);
    // No slot is free, and the breaker admits the next request as an attempt.
    await stage.clock.advance(5000);
    const asked = ['campaigns', 'domains'].map((name) => busy.ask(`{ ${name} { totalCount } }`));
    await stage.queued(busy, 'interactive', 2);
    expect((await stage.look(busy)).waiting.map(({ fails }) => fails)).toEqual([false, false]);
    while (requests.length < 7) await stage.clock.advance(100);
    const { heldMs, waiting } = await stage.look(busy);
    expect(waiting).toMatchObject([{ resource: 'domains', fails: true }]);
    expect(waiting[0]?.leavesInMs).toBeLessThan(heldMs);
    await stage.clock.advance(10_000);
    const codes = (await Promise.all(asked)).map(({ errors }) => errors?.[0]?.extensions?.['code']);
    expect(codes).toEqual(['UPSTREAM_UNAVAILABLE', 'UPSTREAM_UNAVAILABLE']);
    expect(requests).toHaveLength(7);
    await stage.closeLast();
    await sandbox.close();
  });
});
