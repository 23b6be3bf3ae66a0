import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { arrival, type BusyGateway, busyGateway, isRefused } from '../support/busy-gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let busy: BusyGateway | undefined;
afterEach(async () => {
  await busy?.sandbox.close();
});

let clock: VirtualClock;

async function start(env: Record<string, string> = {}): Promise<BusyGateway> {
  clock = new VirtualClock();
  busy = await busyGateway({ shutdownGraceMs: '15000', ...env }, { clock });
  return busy;
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const read = '{ pixels(first: 1) { totalCount } }';
const write =
  'mutation { createDomain(input: { domain: "https://drain.example" }) { __typename } }';

/** Holds the next answers of the upstream: at a start, reads queue behind the first two, and writes behind three. */
async function holdFirst(
  gateway: BusyGateway,
  times = 2,
): Promise<{ first: Promise<unknown>; open: () => void }> {
  const { opened, open } = gate();
  gateway.sandbox.links.fault({ kind: 'hold', until: opened, times });
  const first = gateway.ask('{ account { username } plans { name } }');
  while (gateway.sandbox.links.requests.length < 2) await clock.settle();
  return { first, open };
}

/** Resolves once a gateway has this many requests of a lane in its queue. */
async function queued({ gateway, url }: BusyGateway, lane: string, count = 1): Promise<void> {
  const line = `gateway_queue_length{upstream="LINKS",lane="${lane}"} ${count}\n`;
  while (!(await (await fetch(`${url}/metrics`)).text()).includes(line)) await clock.settle();
  expect(gateway).toBeDefined();
}

describe('a stop', () => {
  it('answers reads that wait at once, with when to try again, and lets those on the wire finish', async () => {
    const gateway = await start();
    const { first, open } = await holdFirst(gateway);
    const waiting = gateway.ask(read);
    await queued(gateway, 'interactive');
    const closed = gateway.gateway.close();
    expect(await waiting).toMatchObject({
      errors: [
        {
          extensions: {
            code: 'BUDGET_EXHAUSTED',
            retryAfterMs: expect.any(Number),
            availableAt: expect.any(String),
          },
        },
      ],
    });
    open();
    expect(await first).toMatchObject({ status: 200, data: { account: { username: 'studio' } } });
    await closed;
    expect(gateway.sandbox.links.requests).toHaveLength(2);
  });

  it('ends a connection at once after an answer whose head was sent before', async () => {
    const gateway = await start();
    const { first, open } = await holdFirst(gateway);
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'multipart/mixed' },
      body: JSON.stringify({ query: '{ __typename ... @defer { account { username } } }' }),
    });
    const events: string[] = [];
    const closed = gateway.gateway.close().then(() => events.push('closed'));
    open();
    expect(await response.text()).toContain('"username":"studio"');
    await first;
    // By Node alone it would stay open for seconds.
    for (let n = 0; n < 50 && events.length === 0; n += 1) await clock.settle();
    expect(events).toEqual(['closed']);
    await closed;
  });

  it('waits for no connection on which nothing was ever sent', async () => {
    const gateway = await start();
    const { hostname, port } = new URL(gateway.url);
    const unused = connect(Number(port), hostname);
    await once(unused, 'connect');
    await fetch(`${gateway.url}/livez`);
    const ended = once(unused, 'close');
    unused.resume();
    await gateway.gateway.close();
    await ended;
  });

  it('sends writes that wait', async () => {
    const gateway = await start();
    const { first, open } = await holdFirst(gateway, 3);
    const beside = gateway.ask(write);
    while (gateway.sandbox.links.requests.length < 3) await clock.settle();
    const waiting = gateway.ask(write.replace('drain', 'late-drain'));
    await queued(gateway, 'write');
    const closed = gateway.gateway.close();
    open();
    expect(await waiting).toMatchObject({
      data: { createDomain: { __typename: 'BrandedDomain' } },
    });
    await Promise.all([first, beside, closed]);
    expect(gateway.sandbox.links.requests.map(({ path }) => path)).toEqual([
      '/api/account',
      '/api/plans',
      '/api/domain/add',
      '/api/domain/add',
    ]);
  });

  it('rejects writes at once whose turn would be too late, as not sent', async () => {
    const gateway = await start({ MAX_WAIT_MS: '3600000' });
    gateway.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 60, times: 1 });
    await gateway.ask(read, { headers: { prefer: 'wait=0' } });
    const waiting = gateway.ask(write, { headers: { prefer: 'wait=3600' } });
    await queued(gateway, 'write');
    const closed = gateway.gateway.close();
    expect(await waiting).toMatchObject({
      errors: [{ extensions: { code: 'BUDGET_EXHAUSTED', retryAfterMs: 60_000 } }],
    });
    await closed;
    expect(gateway.sandbox.links.requests).toHaveLength(1);
  });

  it('waits for a write whose caller has hung up', async () => {
    const gateway = await start({ LOG_LEVEL: 'debug' });
    const { opened, open } = gate();
    gateway.sandbox.links.fault({ kind: 'hold', until: opened, times: 1 });
    const body = JSON.stringify({ query: write });
    const sent = request(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    }).end(body);
    const hungUp = once(sent, 'error');
    await arrival(gateway.sandbox.links);
    sent.destroy();
    await hungUp;
    const closed = gateway.gateway.close();
    const first = Promise.race([closed.then(() => 'closed'), opened.then(() => 'answered')]);
    await clock.settle();
    open();
    expect(await first).toBe('answered');
    await closed;
    expect(gateway.lines()).toContainEqual(
      expect.objectContaining({ msg: 'upstream request', resource: 'domain', code: 'OK' }),
    );
  });

  it('rejects requests to an upstream that does not respond within the grace period', async () => {
    const gateway = await start({ shutdownGraceMs: '3000', LINKS_TIMEOUT_MS: '3600000' });
    gateway.sandbox.links.fault({ kind: 'hang' });
    const waiting = gateway.ask(write);
    await arrival(gateway.sandbox.links);
    const closed = gateway.gateway.close();
    await clock.advance(2999);
    expect(await waiting).toMatchObject({ errors: [{ extensions: { code: 'OUTCOME_UNKNOWN' } }] });
    await closed;
  });
});

describe('A stopping gateway', () => {
  it('refuses new connections at once', async () => {
    const gateway = await start();
    const { first, open } = await holdFirst(gateway);
    const closed = gateway.gateway.close();
    expect(await isRefused(`${gateway.url}/livez`)).toBe(true);
    open();
    expect(await first).toMatchObject({ status: 200 });
    await closed;
  });
});
