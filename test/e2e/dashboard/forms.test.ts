import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { expectAccessible, findingsOf } from '../axe.ts';
import { type DashboardWorld, hold, startDashboard, wholeView } from './dashboard-world.ts';

describeWith([chromium, dashboardPackages], 'the forms of the dashboard', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeAll(async () => {
    // The race of two callers takes four windows of the marketplace.
    world = await startDashboard({
      env: { MARKET_RATE_WINDOW_MS: '2000' },
    });
    page = await world.open();
    await wholeView(page);
  });
  afterAll(() => world?.close());

  /** Fills in the form for a campaign and sends it. */
  async function send(on: Page, name: string, slug: string): Promise<void> {
    await on.getByLabel('Name', { exact: true }).fill(name);
    await on.getByLabel('Slug').fill(slug);
    await on.getByRole('button', { name: 'Create campaign' }).click();
  }

  const holdCampaign = () => hold(world, { method: 'POST', path: '/api/campaign/add', times: 1 });

  it('shows a campaign at once, and keeps it when the gateway has made it', async () => {
    const release = holdCampaign();
    await send(page, 'Winter sale', 'winter');
    const row = page.getByRole('list', { name: 'Campaigns' }).getByText('Winter sale');
    await page.getByText('Saving…').first().waitFor();
    await row.waitFor();
    release();
    await page.getByText('Campaign “Winter sale” created.').waitFor();
    expect(await row.count()).toBe(1);
    expect(await page.locator('.draft').count()).toBe(0);
    expect(await page.getByLabel('Slug').inputValue()).toBe('');
  });

  it('takes it back when it is rejected, and says why', async () => {
    const release = holdCampaign();
    await send(page, 'Winter again', 'winter');
    const row = page.getByRole('list', { name: 'Campaigns' }).getByText('Winter again');
    await row.waitFor();
    release();
    const form = page.getByRole('form', { name: 'New campaign' });
    await form.getByRole('alert').getByText('The slug is already taken').waitFor();
    expect(await row.count()).toBe(0);
    // What was written can be mended.
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Winter again');
    expect(await findingsOf(page)).toEqual([]);
  });

  it('puts each issue of wrong input at its field, at no cost', async () => {
    world.sandbox.links.clearLog();
    await send(page, ' ', 'no spaces');
    for (const [label, words] of [
      ['Name', 'must not be blank'],
      ['Slug', 'may contain only letters'],
    ] as const) {
      const field = page.getByLabel(label, { exact: true });
      await page.locator('.fault').getByText(words).waitFor();
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      const [fault = ''] = (await field.getAttribute('aria-describedby'))
        ?.split(' ')
        .filter((id) => id.endsWith('-fault')) ?? [''];
      expect(await page.locator(`[id="${fault}"]`).textContent()).toContain(words);
    }
    expect(await page.locator(':focus').getAttribute('name')).toBe('name');
    expect(await page.locator('.draft').count()).toBe(0);
    expect(world.sandbox.links.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('checks a purchase code: a good one, an unknown one, and an invalid one', async () => {
    const form = page.getByRole('form', { name: 'Purchase check' });
    const check = async (code: string): Promise<void> => {
      await form.getByLabel('Purchase code').fill(code);
      await form.getByRole('button', { name: 'Check' }).click();
    };
    const sample = await form.getByLabel('Purchase code').getAttribute('placeholder');
    await check(sample ?? '');
    await page.getByText('Harvest, restaurant UI kit').waitFor();
    await check('00000000-0000-4000-8000-000000000000');
    await page.getByText('This code is not valid.').waitFor();
    world.sandbox.market.clearLog();
    await check('not-a-code');
    await form.getByText('A code has five groups').waitFor();
    expect(await form.getByLabel('Purchase code').getAttribute('aria-invalid')).toBe('true');
    expect(world.sandbox.market.requests).toEqual([]);
  });

  it('sends a file, reports how far it is, and can be stopped', async () => {
    const session = await page.context().newCDPSession(page);
    const upload = page.getByRole('region', { name: 'Upload a file' });
    const pick = (name: string, bytes: number): Promise<void> =>
      upload
        .getByLabel('File to upload')
        .setInputFiles({ name, mimeType: 'image/png', buffer: Buffer.alloc(bytes, 7) });
    const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 500_000 };
    await session.send('Network.emulateNetworkConditions', slow);
    await pick('harbour.png', 1_000_000);
    await page.waitForFunction(
      '(bar => bar && bar.value > 0 && bar.value < 1)(document.querySelector("#sent"))',
    );
    expect(await findingsOf(page)).toEqual([]);
    await upload.getByRole('link').waitFor();
    await pick('harbour.png', 1_000_000);
    await upload.getByRole('button', { name: 'Cancel' }).click();
    await upload.getByRole('progressbar').waitFor({ state: 'detached' });
    await session.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 });
    await pick('empty.png', 0);
    await upload.getByRole('alert').waitFor();
  });

  it('takes a file that is dropped', async () => {
    const data = await page.evaluateHandle(
      'const data = new DataTransfer(); data.items.add(new File(["text"], "dropped.txt")); data',
    );
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer: data });
    await page.getByText('dropped.txt uploaded').waitFor();
  });

  it('shows that a noisy neighbour delays itself', async () => {
    await page.getByRole('button', { name: 'Run the noisy neighbor' }).click();
    await page.getByText(/[1-4] of the neighbor’s 4 operations still waited/).waitFor();
    await page.getByText(/^Your operation waited .+, the neighbor’s/).waitFor();
    const mine = ({ path }: { path: string }): boolean => path.includes('purchase');
    const asked = world.sandbox.market.requests.filter(mine);
    expect(asked.length).toBe(13);
  });

  it('is accessible with all of that on it', () => expectAccessible(page));

  it('had no complaint but of the faults that it was to show', () => {
    expect(world.elsewhere).toEqual([]);
    expect(world.complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
  });
});
