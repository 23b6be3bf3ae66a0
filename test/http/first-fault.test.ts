import { describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';

const ACCOUNT = '{ account { username } }';

async function start(env: Readonly<Record<string, string>> = {}): Promise<BusyGateway> {
  const gateway = await busyGateway(env);
  return gateway;
}

const warnings = (gateway: BusyGateway): unknown[] =>
  gateway
    .lines()
    .filter(({ level, upstream }) => level === 'warn' && upstream === undefined)
    .map(({ msg }) => msg);

describe('the first request that fails after a start', () => {
  it('logs an invalid setting once', async () => {
    const gateway = await start({ LINKS_API_KEY: 'mistyped' });
    await gateway.ask(ACCOUNT);
    await gateway.ask('{ plans { name } }');
    expect(warnings(gateway)).toEqual([
      'The link-management API rejects LINKS_API_KEY. Check that the key is complete, belongs to this installation and has not expired.',
    ]);
    expect(gateway.log()).not.toContain('mistyped');
  });

  it('says the same as a probe of a page in the place of the API', async () => {
    const gateway = await start();
    gateway.sandbox.market.fault({ kind: 'html' });
    await gateway.ask('{ seller { username } }');
    expect(warnings(gateway)).toEqual([
      'MARKET_BASE_URL serves a web page instead of the API (HTTP 200 with HTML). Check its host and path.',
    ]);
  });

  it('is no matter of the settings once one has worked', async () => {
    const gateway = await start();
    await gateway.ask(ACCOUNT);
    gateway.sandbox.links.fault({ kind: 'html' });
    await gateway.ask('{ plans { name } }');
    expect(warnings(gateway)).toEqual([]);
  });

  it('is not thought one because a row is absent, or a key may not do something', async () => {
    const gateway = await start();
    await gateway.ask(
      '{ user(id: 999999) { email } channel(id: 999999) { items { totalCount } } }',
    );
    expect(warnings(gateway)).toEqual([]);
  });
});
