import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { expectAccessible, findingsOf } from '../axe.ts';
import { type DashboardWorld, hold, startDashboard, wholeView } from './dashboard-world.ts';

interface Code {
  readonly id: string;
  readonly databaseId: number;
  readonly statistics: { readonly clicks: number };
}

/** How far an export is: some rows. */
const SOME_ROWS = /^[1-9]\d* of \d+ rows, \d+ requests/;

describeWith([chromium, dashboardPackages], 'an export of the dashboard', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeEach(async () => {
    world = await startDashboard();
    page = await world.open();
    await wholeView(page);
  });
  afterEach(() => world?.close());

  const panelOf = (of: Page) => of.getByRole('region', { name: 'Export' });

  async function codes(fields: string): Promise<readonly Code[]> {
    const { data } = await world.ask(`{ qrCodes(first: 100) { nodes { ${fields} } } }`);
    return (data as { qrCodes: { nodes: Code[] } }).qrCodes.nodes;
  }

  /** Starts an export with statistics that stops at the code in the middle until the returned function is called. */
  async function startHeld(): Promise<() => void> {
    const all = await codes('databaseId');
    const middle = all[Math.floor(all.length / 2)]?.databaseId;
    const release = hold(world, { path: `/api/qr/${middle}` });
    await panelOf(page)
      .getByLabel(/With statistics/)
      .check();
    await panelOf(page).getByRole('button', { name: 'Export CSV' }).click();
    await panelOf(page).getByText(SOME_ROWS).waitFor();
    return release;
  }

  /** Resolves once the gateway has what was sent before: it receives a later request, too. */
  const isReceived = () => world.ask('{ __typename }');

  it('goes on after the page is closed, is shown again on the next one, and has all rows', async () => {
    const release = await startHeld();
    await page.close();
    const next = await world.open();
    const panel = panelOf(next);
    await panel.getByText(SOME_ROWS).waitFor();
    const progress = panel.getByRole('progressbar');
    const value = Number(await progress.getAttribute('value'));
    expect(value).toBeGreaterThan(0);
    expect(Number(await progress.getAttribute('max'))).toBeGreaterThan(value);
    release();
    const all = await codes('id statistics { clicks }');
    await panel.getByText(`The export is ready: ${all.length} rows.`).waitFor();
    const saved = next.waitForEvent('download');
    await panel.getByRole('button', { name: 'Download' }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe('qr-codes.csv');
    const text = readFileSync(await download.path(), 'utf8');
    const [head, ...rows] = text.replace('\uFEFF', '').trimEnd().split('\r\n');
    expect(head).toBe(
      'id,name,createdAt,scans,link,statistics.clicks,statistics.uniqueClicks,__errors',
    );
    expect(rows.map((row) => row.split(',')[0])).toEqual(all.map(({ id }) => id));
    expect(rows.map((row) => Number(row.split(',').at(-3)))).toEqual(
      all.map(({ statistics }) => statistics.clicks),
    );
    expect(world.complaints).toEqual([]);
  });

  it('can be canceled, and is accessible before and after that', async () => {
    const release = await startHeld();
    const panel = panelOf(page);
    await expectAccessible(page);
    const sent = page.waitForRequest((each) => (each.postData() ?? '').includes('cancelJob'));
    await panel.getByRole('button', { name: 'Cancel' }).click();
    await sent;
    await isReceived();
    release();
    await panel.getByText(/^The export was canceled after \d+ rows\.$/).waitFor();
    await panel.getByRole('button', { name: 'Export CSV' }).waitFor();
    expect(await panel.getByRole('progressbar').count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
  });

  it('says why it stopped, and continues on request', async () => {
    const release = await startHeld();
    const panel = panelOf(page);
    const { data } = await world.ask('{ jobs(first: 1) { nodes { id } } }');
    const [job] = (data as { jobs: { nodes: { id: string }[] } }).jobs.nodes;
    const paused = world.ask(`mutation { pauseJob(id: "${job?.id}") { state } }`);
    await isReceived();
    release();
    await paused;
    await panel.getByRole('alert').getByText('The export is paused.').waitFor();
    await panel.getByRole('button', { name: 'Resume' }).click();
    await panel.getByText(/^The export is ready: \d+ rows\.$/).waitFor();
  });
});
