import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { BusyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { tempFolder } from '../support/folder.ts';
import { ConsoleStage } from './console-stage.ts';

const SECRET = 'a-secret-that-is-long-enough-for-the-algorithm';
const LOST = { kind: 'drop', method: 'POST', applied: true, times: 1 } as const;
/** As a proxy on this machine passes requests on: they come from elsewhere. */
const REMOTE = { 'x-forwarded-for': '203.0.113.7' };

const stage = new ConsoleStage();
let busy: BusyGateway;
beforeEach(async () => {
  const folder = tempFolder();
  busy = await stage.start({
    AUTH_MODE: 'jwt',
    AUTH_JWT_SECRET: SECRET,
    AUTH_JWT_ISSUER: 'https://id.example',
    AUTH_JWT_AUDIENCE: 'gateway',
    AUTH_JWT_CLASS_CLAIM: 'class',
    CALLER_CLASSES: '{"agent": {}}',
    MAX_WAIT_MS: '300000',
    metrics: 'open',
    STATE_DIR: join(folder, 'state'),
  });
});

/** A token of the identity provider for Ann, who sends by herself and by an agent. */
function tokenOf(callerClass: 'agent' | 'default'): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(stage.clock.wall() / 1000) + 6000;
  const who = { sub: 'Ann Lee', roles: ['editor'], class: callerClass };
  const claims = { ...who, exp, iss: 'https://id.example', aud: 'gateway' };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
}

const ask = (callerClass: 'agent' | 'default', query: string, wait = 0) =>
  busy.ask(query, {
    headers: { authorization: `Bearer ${tokenOf(callerClass)}`, prefer: `wait=${wait}` },
  });

const ANN = { caller: 'Ann Lee' };
const AGENT = { caller: 'Ann Lee', callerClass: 'agent' };

describe('The class of a caller', () => {
  it('separates the requests of an agent from those of the person with the same name', async () => {
    await ask('agent', '{ account { username } pixels { totalCount } }');
    await ask('default', '{ campaigns { totalCount } }');
    const { recent, spenders } = await stage.look(busy);
    expect(recent.spenders).toEqual([
      { ...AGENT, count: 2 },
      { ...ANN, count: 1 },
    ]);
    const resources = (...names: string[]) => names.map((resource) => ({ resource, sends: 1 }));
    expect(spenders).toEqual([
      {
        kind: 'caller',
        name: 'Ann Lee',
        callerClass: 'agent',
        sends: 2,
        resources: resources('account', 'pixels'),
      },
      { kind: 'caller', name: 'Ann Lee', sends: 1, resources: resources('campaigns') },
    ]);
    const remote = await consoleState(busy.url, REMOTE);
    expect(remote.spenders.map(({ callerClass, name }) => [name, callerClass])).toEqual([
      ['Caller 1', 'agent'],
      ['Caller 1', undefined],
    ]);
    expect(JSON.stringify(remote)).not.toContain('Ann');
  });

  it('is beside the callers of failures and of events', async () => {
    busy.sandbox.links.fault({ kind: 'error-500' });
    for (const callerClass of ['default', 'agent', 'agent'] as const) {
      await ask(callerClass, 'query Campaigns { campaigns { totalCount } }');
      await stage.clock.advance(1000);
    }
    busy.sandbox.links.clearFaults();
    busy.sandbox.links.fault(LOST);
    await ask('agent', 'mutation { createChannel(input: { name: "Spring" }) { __typename } }');
    const { events, recent } = await stage.look(busy);
    expect(recent.codes[0]).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      callers: [
        { ...AGENT, count: 2 },
        { ...ANN, count: 1 },
      ],
    });
    const callersOf = (text: string) => events.find((each) => each.text === text)?.callers;
    expect(callersOf('Campaigns')).toEqual([AGENT, ANN]);
    expect(callersOf('The link-management API: GET campaigns')).toEqual([AGENT, ANN]);
    expect(callersOf('Outcome unknown: POST channel')).toEqual([AGENT]);
    expect(JSON.stringify(await consoleState(busy.url, REMOTE))).not.toContain('Ann');
  });

  it('is beside the callers of waiting requests', async () => {
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 40, times: 1 });
    const asked = [ask('agent', '{ pixels { totalCount } }', 120)];
    await stage.queued(busy, 'interactive');
    asked.push(ask('agent', '{ campaigns { totalCount } }', 120));
    asked.push(ask('default', '{ overlays { totalCount } }', 120));
    await stage.queued(busy, 'interactive', 3);
    const { waiting, waitingCallers } = await stage.look(busy);
    const callers = waiting.map(({ caller, callerClass, resource }) => [
      resource,
      { caller, callerClass },
    ]);
    expect(Object.fromEntries(callers)).toEqual({ campaigns: AGENT, overlays: ANN, pixels: AGENT });
    expect(waitingCallers).toMatchObject([
      { ...AGENT, count: 2 },
      { ...ANN, count: 1 },
    ]);
    expect(waitingCallers[1]).not.toHaveProperty('callerClass');
    const remote = await consoleState(busy.url, REMOTE);
    expect(remote.waiting.filter(({ callerClass }) => callerClass === 'agent')).toMatchObject([
      { caller: null },
      { caller: null },
    ]);
    await stage.clock.advance(120_000);
    await Promise.all(asked);
  });

  it('is beside the owner of a job', async () => {
    const start = `mutation { startExport(input: {
      query: "{ channels { nodes { name } } }", startAt: "2100-01-01T00:00:00Z"
    }) { __typename } }`;
    for (const callerClass of ['agent', 'default'] as const) {
      const { data } = await ask(callerClass, start);
      expect(data).toEqual({ startExport: { __typename: 'Job' } });
      await stage.clock.advance(1000);
    }
    const { jobs } = await stage.look(busy);
    expect(jobs.rows).toMatchObject([ANN, AGENT]);
    expect(jobs.rows[0]).not.toHaveProperty('callerClass');
  });
});
