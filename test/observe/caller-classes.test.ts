import { beforeEach, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { tokenFile } from '../support/folder.ts';
import { upload } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DASHBOARD = 'query Dashboard { account { username } }';
const LOST = { kind: 'drop', method: 'POST', applied: true, times: 1 } as const;

let busy: BusyGateway;
beforeEach(async () => {
  const file = tokenFile(
    { name: 'person', role: 'editor' },
    { name: 'other', role: 'editor', class: 'default' },
    { name: 'bot', role: 'editor', class: 'agent' },
  );
  const env = {
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: file,
    CALLER_CLASSES: '{"agent": {}}',
    metrics: 'open',
  };
  busy = await busyGateway(env, { clock: new VirtualClock() });
});

const as = (caller: string) => ({ authorization: `Bearer ${caller}`, prefer: 'wait=0' });
const ask = (caller: string, query: string) => busy.ask(query, { headers: as(caller) });
const lines = (message: string) => busy.lines().filter(({ msg }) => msg === message);

describe('The log', () => {
  it('has the class of an agent after its name, also on the fast path', async () => {
    for (let times = 0; times < 5; times += 1) await ask('bot', DASHBOARD);
    const metrics = await (await fetch(`${busy.url}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_remembered_answers_total [1-4]$/m);
    const operations = lines('operation');
    expect(operations).toHaveLength(5);
    for (const line of operations) {
      expect(line).toMatchObject({ operation: 'Dashboard', caller: 'bot', callerClass: 'agent' });
    }
    expect(busy.log().match(/"caller":"bot","callerClass":"agent","status":200,/g)).toHaveLength(5);
  });

  it('has no class of callers in the default class', async () => {
    for (const caller of ['person', 'other', 'other']) await ask(caller, DASHBOARD);
    await upload(busy.url, '/files/a.bin', 'bytes', as('other'));
    busy.sandbox.links.fault({ kind: 'error-500', times: 1 });
    await ask('other', '{ pixels { totalCount } }');
    expect(lines('operation')).toHaveLength(5);
    expect(lines('upstream failed')).toHaveLength(1);
    expect(busy.log()).not.toContain('callerClass');
  });

  it('has the class of an agent whose operation is refused', async () => {
    await ask('bot', '{ nothingOfThis }');
    expect(lines('operation')).toMatchObject([
      { outcome: 'failed', codes: ['GRAPHQL_VALIDATION_FAILED'], callerClass: 'agent' },
    ]);
  });

  it('has it at an upload, a failed upstream request and a write with an unknown outcome', async () => {
    await upload(busy.url, '/files/a.bin', 'bytes', as('bot'));
    expect(lines('operation')).toMatchObject([
      { type: 'upload', caller: 'bot', callerClass: 'agent', status: 201 },
    ]);
    busy.sandbox.links.fault({ kind: 'error-500', times: 1 });
    await ask('bot', '{ pixels { totalCount } }');
    expect(lines('upstream failed')).toMatchObject([{ callerClass: 'agent', resource: 'pixels' }]);
    busy.sandbox.links.fault(LOST);
    await ask('bot', 'mutation { createChannel(input: { name: "Spring" }) { __typename } }');
    expect(lines('write outcome unknown')).toMatchObject([{ caller: 'bot', callerClass: 'agent' }]);
  });
});
