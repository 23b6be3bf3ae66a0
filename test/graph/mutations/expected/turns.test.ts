import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection, Row, World } from '../../../support/gateway.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { Stage } from '../story.ts';
import { CHANNEL, Channels, conflict, done } from './channels.ts';

const stage = new Stage();
const channels = new Channels(stage);
let clock: VirtualClock;
let on: World;

beforeEach(async () => {
  clock = new VirtualClock();
  on = await stage.open({ clock, env: { LINKS_TIMEOUT_MS: '60000', writeSettleMs: '5000' } });
  await channels.changeElsewhere({ name: 'A' });
  on.forgetCalls();
});

const held: (() => void)[] = [];
// A test that fails must not keep the gateway from closing.
afterEach(() => {
  for (const release of held.splice(0)) release();
});

/** Holds the next request of a method at the API; returns what lets it go. */
function hold(method: string, applied = false): () => void {
  let release = (): void => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
    held.push(resolve);
  });
  stage.sandbox.links.fault({ kind: 'hold', until, method, applied, times: 1 });
  return release;
}

const set = (name: string, how: Parameters<Channels['ask']>[2] = {}) =>
  channels.ask({ name }, undefined, { on, ...how });
const setIf = (before: string, name: string, how: Parameters<Channels['ask']>[2] = {}) =>
  channels.ask({ name }, { name: before }, { on, ...how });

/** The names that were sent to the API, in order. */
const names = () => stage.written.map(({ body }) => (body as { name: string }).name);
const methods = () => on.calls().map((call) => call.split(' ')[0]);

describe('An update with `expected`', () => {
  it('makes other updates wait from its read to its response', async () => {
    const readsOn = hold('GET');
    const first = setIf('A', 'B');
    await stage.met('hold');
    const plain = set('C');
    const second = setIf('C', 'D');
    await clock.settle();
    expect(methods()).toEqual(['GET']);
    const writesOn = hold('PUT', true);
    readsOn();
    while (methods().length < 2) await clock.settle();
    await clock.settle();
    // The change was made, and its response is still held back.
    expect(methods()).toEqual(['GET', 'PUT']);
    writesOn();
    const results = (await Promise.all([first, plain, second])).map(({ data }) => data?.updated);
    expect(results).toEqual([done, done, done]);
    expect(names()).toEqual(['B', 'C', 'D']);
    expect(methods()).toEqual(['GET', 'PUT', 'PUT', 'GET', 'PUT']);
  });

  it('reads only when the updates before it have their responses', async () => {
    await on.data('{ channels(first: 100) { nodes { name } } }');
    on.forgetCalls();
    const writesOn = hold('PUT');
    const plain = set('B');
    await stage.met('hold');
    const second = setIf('A', 'C');
    await clock.settle();
    expect(methods()).toEqual(['PUT']);
    writesOn();
    expect((await plain).data?.updated).toEqual(done);
    expect((await second).data?.updated).toMatchObject({
      ...conflict('name'),
      current: { name: 'B' },
    });
    expect(methods()).toEqual(['PUT', 'GET']);
  });

  it('makes no update of another object wait, and no plain ones wait for each other', async () => {
    const query = '{ channels(first: 100) { nodes { databaseId } } }';
    const { nodes } = (await on.data<{ channels: Connection<Row> }>(query)).channels;
    const id = String(nodes.find(({ databaseId }) => databaseId !== CHANNEL)?.['databaseId']);
    const writesOn = hold('PUT');
    const first = set('B');
    await stage.met('hold');
    const other = await channels.ask({ id, name: 'X' }, { name: 'no such name' }, { on });
    expect(other.data?.updated).toMatchObject(conflict('name'));
    expect((await set('C')).data?.updated).toEqual(done);
    writesOn();
    await first;
  });

  it('gives up when the others take longer than its caller waits, and says when to retry', async () => {
    const writesOn = hold('PUT');
    const first = set('B');
    await stage.met('hold');
    const waiting = setIf('B', 'C', { headers: { prefer: 'wait=2' } });
    await clock.advance(1999);
    expect(methods()).toEqual(['PUT']);
    await clock.advance(1);
    const { errors, receipt } = await waiting;
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain('same object');
    expect(errors[0]?.extensions).toMatchObject({
      code: 'BUDGET_EXHAUSTED',
      upstream: 'LINKS',
      retryAfterMs: expect.any(Number),
      availableAt: expect.any(String),
    });
    expect(receipt).toMatchObject({ calls: 0, waitedMs: 2000 });
    writesOn();
    expect((await first).data?.updated).toEqual(done);
    expect((await setIf('B', 'C')).data?.updated).toEqual(done);
  });

  it('lets a plain update pass when it gives up in front of it', async () => {
    const writesOn = hold('PUT');
    const first = set('B');
    await stage.met('hold');
    const waiting = setIf('B', 'C', { headers: { prefer: 'wait=1' } });
    await clock.settle();
    const plain = set('D');
    await clock.settle();
    expect(names()).toEqual(['B']);
    await clock.advance(1000);
    expect((await waiting).errors).toHaveLength(1);
    expect((await plain).data?.updated).toEqual(done);
    writesOn();
    await first;
  });
});

describe('A caller that hangs up', () => {
  const hangUp = (): { signal: AbortSignal; now: () => void } => {
    const controller = new AbortController();
    return { signal: controller.signal, now: () => controller.abort() };
  };

  it('while it waits for others is out of their way', async () => {
    const writesOn = hold('PUT');
    const first = set('B');
    await stage.met('hold');
    const { signal, now } = hangUp();
    const left = setIf('B', 'C', { signal }).catch(() => 'left');
    await clock.settle();
    now();
    await clock.settle();
    expect((await set('D')).data?.updated).toEqual(done);
    writesOn();
    await first;
    await left;
    expect(names()).toEqual(['B', 'D']);
  });

  it('while its read is under way lets the others go on', async () => {
    const readsOn = hold('GET');
    const { signal, now } = hangUp();
    const left = setIf('A', 'B', { signal }).catch(() => 'left');
    await stage.met('hold');
    now();
    await clock.settle();
    expect((await set('C')).data?.updated).toEqual(done);
    readsOn();
    await left;
    expect((await setIf('C', 'D')).data?.updated).toEqual(done);
    expect(names()).toEqual(['C', 'D']);
  });

  it('while its write is under way leaves that in its place', async () => {
    const writesOn = hold('PUT');
    const { signal, now } = hangUp();
    const left = setIf('A', 'B', { signal }).catch(() => 'left');
    await stage.met('hold');
    now();
    await clock.settle();
    const second = setIf('A', 'C');
    await clock.settle();
    expect(methods()).toEqual(['GET', 'PUT']);
    writesOn();
    await left;
    expect((await second).data?.updated).toMatchObject({
      ...conflict('name'),
      current: { name: 'B' },
    });
  });
});

describe('After an update whose outcome is unknown', () => {
  it('nothing is compared before the API has certainly ended it', async () => {
    stage.sandbox.links.fault({ kind: 'drop', applied: true, method: 'PUT', times: 1 });
    const { errors } = await setIf('A', 'B');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const second = setIf('A', 'C');
    await clock.advance(4999);
    expect(methods()).toEqual(['GET', 'PUT']);
    await clock.advance(1);
    expect((await second).data?.updated).toMatchObject({
      ...conflict('name'),
      current: { name: 'B' },
    });
    expect(methods()).toEqual(['GET', 'PUT', 'GET']);
  });

  it('the same holds if that was a plain one, which makes no other plain one wait', async () => {
    stage.sandbox.links.fault({ kind: 'html', status: 502, method: 'PUT', times: 1 });
    const { errors } = await set('B');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const second = setIf('A', 'C');
    await clock.advance(4999);
    expect(methods()).toEqual(['PUT']);
    await clock.advance(1);
    expect((await second).data?.updated).toEqual(done);
    expect((await set('D')).data?.updated).toEqual(done);
  });
});

it('A rejected update holds no lock afterwards', async () => {
  const rejected = await channels.ask({ id: '999999', name: 'x' }, undefined, { on });
  expect(rejected.data?.updated).toMatchObject({ __typename: 'Rejected' });
  const again = await channels.ask({ id: '999999', name: 'x' }, { name: 'x' }, { on });
  expect(again.data?.updated).toMatchObject({ __typename: 'Rejected' });
});

it('An update that exceeds the limit of its operation holds no lock afterwards', async () => {
  const few = await stage.open({ clock, env: { OPERATION_MAX_CALLS: '1' } });
  const { errors } = await setIf('A', 'B', { on: few });
  expect(errors[0]?.extensions).toMatchObject({ code: 'OPERATION_TOO_EXPENSIVE' });
  expect(stage.written).toEqual([]);
  expect((await set('C', { on: few })).data?.updated).toEqual(done);
  // The read is cached no more, and the write is one too many.
  expect((await setIf('C', 'D', { on: few })).errors).toHaveLength(1);
  expect((await set('E', { on: few })).data?.updated).toEqual(done);
});
