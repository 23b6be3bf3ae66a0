import { beforeEach, describe, expect, it } from 'vitest';
import { campaigns, updateCampaign } from '../../../src/links/content/campaign.ts';
import { channels, deleteChannel, updateChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { List, Row } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

const SETTLE = 5000;

let sandbox: Sandbox;
let process: KeyedProcess;
let key: string;
let id: number;

beforeEach(async () => {
  const clock = new VirtualClock();
  sandbox = await keyedSandbox(clock);
  process = new KeyedProcess(sandbox, { clock });
  key = newKey();
  id = await firstOf(channels);
  sandbox.links.clearLog();
});

/** The id of the first row of a list. */
async function firstOf(list: List<Row>): Promise<number> {
  const page = await process.call().links.connection(list, { first: 1 });
  const [edge] = page?.edges ?? [];
  if (!edge) throw new Error('the list is empty');
  return edge.node.id;
}

const update = () => updateChannel(id, { name: 'Renamed' });
const lose = (path: string, applied = true) =>
  sandbox.links.fault({ kind: 'drop', applied, path, times: 1 });

describe('an update whose response was lost', () => {
  it('is sent once more when it has settled, without a read', async () => {
    lose(`/api/channel/${id}/update`);
    const call = process.call({ key, mutation: 'updateChannel' });
    const made = call.links.write(update());
    await process.clock.advance(SETTLE - 1);
    expect(received(sandbox)).toHaveLength(1);
    await process.clock.advance(1);
    expect(await made).toMatchObject({ id });
    expect(call.report).toMatchObject({ outcome: 'EXECUTED', upstreamCalls: 2 });
    expect(received(sandbox, 'PUT')).toHaveLength(2);
  });

  it('is never sent a third time', async () => {
    sandbox.links.fault({ kind: 'drop', path: `/api/channel/${id}/update` });
    for (let run = 0; run < 3; run += 1) {
      const lost = outcome(process.call({ key }).links.write(update()));
      await process.clock.advance(60_000);
      expect(await lost).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    }
    expect(received(sandbox)).toHaveLength(2);
  });

  it('is not sent again after another write to the row', async () => {
    lose(`/api/channel/${id}/update`);
    const lost = outcome(process.call({ key, maxWaitMs: 0 }).links.write(update()));
    expect(await lost).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await process.clock.advance(SETTLE);
    await process.call().links.write(updateChannel(id, { name: 'Later' }));
    const again = await outcome(process.call({ key }).links.write(update()));
    expect(again).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(received(sandbox)).toHaveLength(2);
  });

  it('is not sent again without a key', async () => {
    lose(`/api/channel/${id}/update`);
    const lost = await outcome(process.call().links.write(update()));
    expect(lost).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(received(sandbox)).toHaveLength(1);
  });

  it('that a second request could be refused for is read first', async () => {
    const campaign = await firstOf(campaigns);
    const input = { name: 'Renamed', slug: 'renamed' };
    sandbox.links.clearLog();
    lose(`/api/campaign/${campaign}/update`);
    const call = process.call({ key, mutation: 'updateCampaign' });
    const made = call.links.write(updateCampaign(campaign, input));
    await process.clock.advance(SETTLE);
    expect(await made).toMatchObject({ id: campaign, name: 'Renamed' });
    expect(call.report).toMatchObject({ outcome: 'RECONCILED', upstreamCalls: 2 });
    expect(received(sandbox, 'PUT')).toHaveLength(1);
  });

  it('is sent once more if the row that was read first does not have it', async () => {
    const campaign = await firstOf(campaigns);
    const input = { name: 'Renamed', slug: 'renamed' };
    lose(`/api/campaign/${campaign}/update`, false);
    const call = process.call({ key, mutation: 'updateCampaign' });
    const made = call.links.write(updateCampaign(campaign, input));
    await process.clock.advance(SETTLE);
    expect(await made).toMatchObject({ id: campaign, name: 'Renamed' });
    expect(call.report).toMatchObject({ outcome: 'EXECUTED', upstreamCalls: 3 });
  });
});

describe('a deletion whose response was lost', () => {
  it('is done when the second request does not find the row', async () => {
    lose(`/api/channel/${id}/delete`);
    const call = process.call({ key, mutation: 'deleteChannel' });
    const gone = call.links.write(deleteChannel(id));
    await process.clock.advance(SETTLE);
    expect(await gone).toMatchObject({ id });
    expect(call.report).toMatchObject({ outcome: 'RECONCILED', upstreamCalls: 2 });
    const again = process.call({ key, mutation: 'deleteChannel' });
    expect(await again.links.write(deleteChannel(id))).toMatchObject({ id });
    expect(again.report?.outcome).toBe('REPLAYED');
  });

  it('is rejected when its first request does not find the row', async () => {
    const call = process.call({ key, mutation: 'deleteChannel' });
    const rejected = await outcome(call.links.write(deleteChannel(999_999)));
    expect(rejected).toMatchObject({ code: 'UPSTREAM_REJECTED' });
    expect(received(sandbox)).toHaveLength(1);
  });
});
