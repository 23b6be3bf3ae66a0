import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { type BusyGateway, busyGateway } from '../../support/busy-gateway.ts';
import { tempFolder } from '../../support/folder.ts';
import { someBytes, upload } from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

let busy: BusyGateway | undefined;

const clock = new VirtualClock();

async function start(env: Record<string, string> = {}): Promise<BusyGateway> {
  busy = await busyGateway({ MAX_WAIT_MS: '1000', ...env }, { clock });
  return busy;
}

/** Sends a read of its own until it fails, and returns the number of them that succeeded and the error. */
async function exhaust(gateway: BusyGateway, headers: Record<string, string> = {}) {
  for (let page = 0; ; page += 1) {
    const { errors } = await gateway.ask(`{ files(search: "${page}") { totalCount } }`, {
      headers,
    });
    const [error] = (errors ?? []) as { message: string; extensions: Record<string, unknown> }[];
    if (error) return { page, error };
  }
}

describe('BUDGET_EXHAUSTED states why', () => {
  it('no slot is free', async () => {
    const { error, page } = await exhaust(await start({ writeReserve: '0' }));
    expect(page).toBe(30);
    expect(error.extensions).toMatchObject({ code: 'BUDGET_EXHAUSTED', reason: 'limit' });
    expect(error.message).toMatch(
      /^The rate limit of the link-management API is reached\. Retry in \d+ s\.$/,
    );
  });

  it('a refusal has paused all requests, also uploads', async () => {
    const gateway = await start();
    gateway.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 20, times: 1 });
    const { error, page } = await exhaust(gateway);
    expect(page).toBe(0);
    expect(error.extensions).toMatchObject({ reason: 'paused', retryAfterMs: 20_000 });
    expect(error.message).toBe(
      'The link-management API has refused a request because of its rate limit. Retry in 20 s.',
    );
    const sent = await upload(gateway.url, '/files/picture.png', someBytes(2000), {
      'content-type': 'image/png',
    });
    expect(sent.errors?.[0]?.extensions).toMatchObject({ reason: 'paused' });
  });

  it('earlier requests are unknown after a start without a record of them', async () => {
    const folder = tempFolder();
    const sandbox = await startSandbox({ clock });
    sandbox.links.fault({
      kind: 'answer',
      rewrite: ({ body, status }) => ({
        body,
        status,
        headers: { 'content-type': 'application/json' },
      }),
    });
    busy = await busyGateway({ MAX_WAIT_MS: '1000', STATE_DIR: folder }, { clock, sandbox });
    const { error, page } = await exhaust(busy);
    // Half of the limit, but for one slot that is left to writes.
    expect(page).toBe(14);
    expect(error.extensions).toMatchObject({ reason: 'starting' });
    expect(error.message).not.toContain('rate limit');
    await busy.close();
    busy = undefined;
    await sandbox.close();
  });

  it('too many keys of callers are in use', async () => {
    const gateway = await start({
      AUTH_MODE: 'passthrough',
      passthroughMaxKeys: '1',
      LINKS_API_KEY: '',
    });
    const { key, keys } = gateway.sandbox.links;
    const ask = (secret: string) =>
      gateway.ask('{ account { username } }', { headers: { authorization: `Bearer ${secret}` } });
    expect((await ask(key)).errors).toBeUndefined();
    const [error] = (await ask(keys.pro)).errors ?? [];
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^Too many API keys have sent requests in this window\. Retry in /,
      ),
      extensions: { code: 'BUDGET_EXHAUSTED', reason: 'keys' },
    });
  });

  it('the gateway shuts down', async () => {
    const gateway = await start({ MAX_WAIT_MS: '120000' });
    await exhaust(gateway, { prefer: 'wait=0' });
    const waiting = gateway.ask('{ plans { id } }');
    const line = 'gateway_queue_length{upstream="LINKS",lane="interactive"} 1\n';
    while (!(await (await fetch(`${gateway.url}/metrics`)).text()).includes(line)) {
      await clock.settle();
    }
    const closed = gateway.gateway.close();
    const [error] = (await waiting).errors ?? [];
    expect(error).toMatchObject({ extensions: { code: 'BUDGET_EXHAUSTED', reason: 'stopping' } });
    await closed;
  });
});
