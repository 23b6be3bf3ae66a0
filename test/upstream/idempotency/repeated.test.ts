import { beforeEach, describe, expect, it } from 'vitest';
import type { GatewayError } from '../../../src/errors.ts';
import { campaigns, updateCampaign } from '../../../src/links/content/campaign.ts';
import { channels, updateChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { List, Row } from '../../../src/upstream/request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

let sandbox: Sandbox;
let process: KeyedProcess;
let key: string;
let id: number;

beforeEach(async () => {
  const clock = new VirtualClock();
  sandbox = await keyedSandbox(clock);
  process = await KeyedProcess.start(sandbox, { clock });
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
  it('is sent again as often as it is lost, and with the same content only', async () => {
    sandbox.links.fault({ kind: 'drop', path: `/api/channel/${id}/update` });
    for (let run = 0; run < 3; run += 1) {
      const lost = outcome(process.call({ key }).links.write(update()));
      expect(await lost).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    }
    const other = outcome(process.call({ key, content: 'other' }).links.write(update()));
    expect(await other).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(received(sandbox)).toHaveLength(3);
  });

  it.each([
    ['stays unknown', { name: 'Renamed', slug: 'renamed' }, 'OUTCOME_UNKNOWN'],
    ['is rejected', { name: 'Renamed' }, 'UPSTREAM_REJECTED'],
  ] as const)('%s if its key is refused then: %j', async (_, input, code) => {
    const campaign = await firstOf(campaigns);
    const path = `/api/campaign/${campaign}/update`;
    lose(path);
    const send = () =>
      outcome(
        process
          .call({ key, mutation: 'updateCampaign' })
          .links.write(updateCampaign(campaign, input)),
      );
    expect(await send()).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const body = { error: 1, message: 'This slug is taken.' };
    sandbox.links.fault({
      kind: 'answer',
      path,
      times: 1,
      rewrite: (answer) => ({ ...answer, body }),
    });
    const refused = await send();
    expect(refused).toMatchObject({ code });
    expect((refused as GatewayError).details).not.toHaveProperty('retryAfterMs');
  });
});
