import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { someBytes, until, upload } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Family, readExposition } from './served.ts';

const CALLER_CLASSES = '{"default": {"maxCallsPerMinute": 20}}';
const LIVE = 'query Channels @live { channels(first: 3) { nodes { id name } } }';

/** What `/metrics` of a gateway without requests contains. */
export async function metricsAtStart(): Promise<Map<string, Family>> {
  const busy = await busyGateway({ metrics: 'open' });
  try {
    return await scrape(busy);
  } finally {
    await busy.close();
  }
}

/** ... and after some of everything that can happen to it. */
export async function metricsAfterTraffic(): Promise<Map<string, Family>> {
  const clock = new VirtualClock();
  const env = { metrics: 'open', liveMaxStreams: '1', CALLER_CLASSES };
  const busy = await busyGateway(env, { clock });
  const { links, market } = busy.sandbox;
  try {
    const account = '{ account { username } }';
    await busy.ask(account);
    await busy.ask(account);
    await clock.advance(61_000);
    await busy.ask(account);
    await busy.ask('{ callersField }');
    await rename(busy);
    await upload(busy.url, '/files/picture.png', someBytes(2000), { 'content-type': 'image/png' });

    const viewer = await LiveViewer.begun(busy.url, { query: LIVE });
    const turnedAway = LiveViewer.open(busy.url, { query: LIVE });
    await turnedAway.until(({ ended }) => ended);
    viewer.close();
    await until(
      async () => (await scrape(busy)).get('gateway_live_streams_ended_total')?.samples === 1,
    );

    const body = { error: '0', data: { qrs: 'none' } };
    links.fault({ kind: 'answer', times: 1, rewrite: (answer) => ({ ...answer, body }) });
    await busy.ask('{ qrCodes(first: 1) { totalCount } }');
    market.fault({ kind: 'error-500', times: 1 });
    await busy.ask('{ seller { username } }');
    return await scrape(busy);
  } finally {
    LiveViewer.closeAll();
    await busy.close();
  }
}

async function rename(busy: BusyGateway): Promise<void> {
  const { data } = await busy.ask('{ channels(first: 1) { nodes { id } } }');
  const channels = data?.['channels'] as { nodes: { id: string }[] } | undefined;
  const input = `{ id: "${channels?.nodes[0]?.id}", name: "Seen" }`;
  await busy.ask(`mutation { updateChannel(input: ${input}) { __typename } }`);
}

async function scrape({ url }: BusyGateway): Promise<Map<string, Family>> {
  return readExposition(await (await fetch(`${url}/metrics`)).text());
}
