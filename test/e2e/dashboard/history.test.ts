import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGateway } from '../../../src/gateway.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { newStore } from '../../../src/store/open-store.ts';
import { configOf } from '../../support/config.ts';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { openFolder } from '../../support/store.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { expectAccessible } from '../axe.ts';
import { type DashboardWorld, startDashboard, wholeView } from './dashboard-world.ts';

const DAY_MS = 86_400_000;

/** Days ago, and the scans of each code on that day. */
const past = [
  [9, 150],
  [8, 160],
  [7, 160],
  [6, 180],
  [2, 200],
] as const;

/** Makes a store with the history of counts of a gateway that has read the QR codes on these days. */
async function readInThePast(sandbox: Sandbox, folder: string): Promise<void> {
  const clock = new VirtualClock();
  clock.jumpWall(Date.now() - 10 * DAY_MS - clock.wall());
  const { links, market } = sandbox;
  const config = configOf({
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    AUTH_MODE: 'none',
    STATE_DIR: 'off',
  });
  const store = newStore(clock);
  const gateway = await createGateway(config, { clock, store });
  let ago = 10;
  for (const [day, scans] of past) {
    // Two minutes run, so that nothing is cached any more; the rest of the days is skipped.
    clock.jumpWall((ago - day) * DAY_MS - 120_000);
    await clock.advance(120_000);
    ago = day;
    const mend = links.fault({
      kind: 'answer',
      path: '/api/qr',
      rewrite: ({ body, ...answer }) => {
        const { data, ...rest } = body as { data: { qrs: object[] } };
        const qrs = data.qrs.map((row) => ({ ...row, scans }));
        return { ...answer, body: { ...rest, data: { ...data, qrs } } };
      },
    });
    const body = JSON.stringify({ query: '{ qrCodes(first: 1) { nodes { scans } } }' });
    const headers = { 'content-type': 'application/json' };
    const response = await gateway.fetch(
      new Request('http://gateway/graphql', { method: 'POST', headers, body }),
    );
    expect(await response.text()).toContain(`"scans":${scans}`);
    mend();
  }
  const saved = await openFolder(folder);
  for await (const [key, value] of store.read({ from: 'counts', to: 'counu' })) {
    saved.put(key, value);
  }
  await saved.close();
  await gateway.close();
}

describeWith([chromium, dashboardPackages], 'the scan history of a QR code', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeAll(async () => {
    world = await startDashboard({
      prepare: (sandbox, folder) => readInThePast(sandbox, join(folder, 'store')),
    });
    page = await world.open();
    await wholeView(page);
    world.sandbox.links.clearLog();
    await page.getByRole('button', { name: /^Wren Ceramics, table card/ }).click();
  });
  afterAll(() => world?.close());

  const figure = () => page.getByRole('region', { name: 'QR codes' }).getByRole('figure');
  const line = async (): Promise<number[]> => {
    const d = (await figure().locator('path').getAttribute('d')) ?? '';
    return d
      .split('M')
      .slice(1)
      .map((run) => run.split('L').length);
  };

  it('is a line with gaps, which costs no upstream request', async () => {
    await figure().getByRole('img', { name: 'Scans, 30 days: 150 to 214, with 3 gaps' }).waitFor();
    // Four days, one, and today.
    expect(await line()).toEqual([4, 1, 1]);
    await figure().getByText('In a gap there was no read').waitFor();
    await page.getByText('Top country').waitFor();
    const sent = world.sandbox.links.requests.map(({ path }) => path);
    expect(sent).toEqual([expect.stringMatching(/^\/api\/qr\/\d+$/)]);
  });

  it('is a table, too', async () => {
    await figure().getByText('As a table').click();
    const cells = await figure().getByRole('cell').allTextContents();
    const [lead = '', ...rest] = cells;
    expect(lead).toBe('no value');
    expect(rest).toEqual(['150', '160', '160', '180', 'no value', '200', 'no value', '214']);
    const today = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });
    const last = figure().getByRole('rowheader').last();
    expect(await last.textContent()).toBe(today.format(Date.now()));
  });

  it('has hours, and says when it has just started', async () => {
    await page.getByLabel('24 hours').check();
    await figure().getByRole('img', { name: 'Scans, 24 hours: 214 to 214, with 1 gap' }).waitFor();
    expect(await line()).toEqual([1]);
    await figure().getByText('The history has just started.').waitFor();
    await page.getByLabel('30 days').check();
    await figure().getByText('In a gap there was no read').waitFor();
  });

  it('is accessible, and fits', async () => {
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 800 });
    const over = await page
      .locator('.panel-qr .scroll')
      .evaluate(({ clientWidth, scrollWidth }) => scrollWidth - clientWidth);
    expect(over).toBe(0);
  });
});
