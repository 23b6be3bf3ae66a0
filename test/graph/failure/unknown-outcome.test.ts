import { describe, expect, it } from 'vitest';
import { LiveViewer } from '../../support/live-viewer.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { passTime } from '../mutations/story.ts';
import { FailureStage } from './failure-stage.ts';
import { CAMPAIGNS, CREATE, change, codes, names } from './unknown-writes.ts';

const stage = new FailureStage();

/** Every mutation that can make cached answers outdated, with queries whose answers it touches. */
const writes: readonly (readonly [mutation: string, queries: readonly string[]])[] = [
  ['updateAccount(input: { email: "x@y.example" })', ['{ account { id } }', '{ users { id } }']],
  ['createDomain(input: { domain: "https://a.example" })', ['{ domains { nodes { id } } }']],
  [
    'createCampaign(input: { name: "x" })',
    ['{ campaigns { nodes { name } } }', '{ campaign(id: 1) { name } }'],
  ],
  [
    'createChannel(input: { name: "x" })',
    ['{ channels { nodes { name } } }', '{ channel(id: 1) { items { totalCount } } }'],
  ],
  [
    'createPixel(input: { type: GTM, name: "x", tag: "GTM-1" })',
    ['{ pixels { nodes { name } } }', '{ node(id: "UGl4ZWw6Mjc") { id } }'],
  ],
  [
    'updateQrCode(input: { id: 302, data: { value: "x" } })',
    ['{ qrCodes { nodes { name } } }', '{ qrCode(id: 302) { name } }'],
  ],
  ['deleteUser(id: 12)', ['{ users { id } }', '{ user(id: 12) { id } }']],
];

describe('After a write whose outcome is unknown', () => {
  it.each(writes)(
    'what was read before serves through the outage: %s',
    async (mutation, queries) => {
      const { ask, data } = await stage.start();
      const before = [];
      for (const query of queries) before.push(await data(query));
      stage.sandbox.links.fault({ kind: 'error-500' });
      expect(codes(await ask(change(mutation)))).toEqual(['OUTCOME_UNKNOWN']);
      for (const [at, query] of queries.entries()) {
        const answer = await ask(query);
        expect(answer.errors).toEqual([]);
        expect(answer.data).toEqual(before[at]);
        expect(answer.receipt.stale).toBeGreaterThan(0);
      }
    },
  );

  it('a row on a cached page serves, although its own read is what is asked', async () => {
    const { ask, data } = await stage.start();
    await data('{ qrCodes(first: 100) { nodes { id name } } }');
    const query = '{ qrCode(id: 302) { name } }';
    const before = await data(query);
    stage.sandbox.links.fault({ kind: 'error-500' });
    await ask(change('updateQrCode(input: { id: 302, data: { value: "x" } })'));
    const { data: after, errors, receipt } = await ask(query);
    expect({ after, errors }).toEqual({ after: before, errors: [] });
    expect(receipt.stale).toBeGreaterThan(0);
  });

  it('of several cached pages, the one that holds the row alone is read again', async () => {
    const { ask, calls, data, forgetCalls } = await stage.start({ LINKS_PAGE_SIZE: '2' });
    const { qrCodes } = await data<{ qrCodes: { nodes: { id: string; name: string }[] } }>(
      '{ qrCodes(first: 6) { nodes { id name } } }',
    );
    const [, , third] = qrCodes.nodes;
    stage.sandbox.links.fault({ kind: 'error-500' });
    await ask(change('updateQrCode(input: { id: 302, data: { value: "x" } })'));
    forgetCalls();
    const { data: after, errors } = await ask(`{ qrCode(id: "${third?.id}") { name } }`);
    expect({ after, errors }).toEqual({ after: { qrCode: { name: third?.name } }, errors: [] });
    expect(calls().filter((call) => call.includes('page='))).toEqual([
      'GET /api/qr?limit=2&page=2',
    ]);
  });

  it('each reader gets the state after it as soon as it can be had', async () => {
    const world = await stage.start();
    await world.data(CAMPAIGNS);
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    await world.ask(change(CREATE));
    const { data, receipt } = await world.ask<{ campaigns: unknown }>(CAMPAIGNS);
    expect(receipt).toMatchObject({ calls: 1, stale: 0 });
    expect(JSON.stringify(data)).toContain('"new"');
  });

  it('a slow answer that shows it is waited for longer than for one that is only old', async () => {
    const clock = new VirtualClock();
    const world = await stage.start({ MAX_WAIT_MS: '10000' }, undefined, { clock });
    await world.data(CAMPAIGNS);
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    await world.ask(change(CREATE));
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    stage.sandbox.links.fault({ kind: 'hold', until });
    const reading = world.ask(CAMPAIGNS);
    await clock.advance(8000);
    release();
    const { text, receipt } = await passTime(clock, reading);
    expect(text).toContain('"new"');
    expect(receipt.stale).toBe(0);
  });

  it('what was read before serves at once while reads fail, and no longer than it may', async () => {
    const clock = new VirtualClock();
    const world = await stage.start({ STALE_IF_ERROR_MS: '60000' }, undefined, { clock });
    const before = await names(world);
    stage.sandbox.links.fault({ kind: 'error-500' });
    await world.ask(change(CREATE));
    expect(await names(world)).toEqual(before);
    world.forgetCalls();
    expect(await names(world)).toEqual(before);
    expect(world.calls()).toEqual([]);
    await clock.advance(86_400_000);
    expect(codes(await passTime(clock, world.ask(CAMPAIGNS)))).toEqual(['UPSTREAM_UNAVAILABLE']);
  });

  it('a write that is answered hides the state before both', async () => {
    const world = await stage.start();
    await world.data(CAMPAIGNS);
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', times: 1 });
    await world.ask(change(CREATE));
    await world.data(change(CREATE));
    stage.sandbox.links.fault({ kind: 'error-500' });
    const { data, errors } = await world.ask(CAMPAIGNS);
    expect(data).toEqual({ campaigns: null });
    expect(errors).toHaveLength(1);
  });

  it('nothing that a write has surely made outdated comes back with it', async () => {
    const world = await stage.start();
    await world.data(CAMPAIGNS);
    await world.data(change(CREATE));
    stage.sandbox.links.fault({ kind: 'error-500' });
    await world.ask(change(CREATE));
    expect(codes(await world.ask(CAMPAIGNS))).toHaveLength(1);
  });

  it('a live query keeps its last result, and goes on to the next when the outage is over', async () => {
    const world = await stage.start({ PORT: '0', 'ttl.campaigns': '1000' });
    const { url } = await world.gateway.listen();
    const viewer = await LiveViewer.begun(url.replace('localhost', '127.0.0.1'), {
      query: `query @live ${CAMPAIGNS}`,
    });
    const before = viewer.document;
    const restore = stage.sandbox.links.fault({ kind: 'error-500', applied: true });
    await world.ask(change(CREATE));
    await world.data(CAMPAIGNS);
    expect(viewer.document).toEqual(before);
    restore();
    await viewer.until(({ document }) => JSON.stringify(document.data).includes('"new"'));
    expect(viewer.events.filter(({ data }) => data?.errors)).toEqual([]);
    viewer.close();
  });
});
