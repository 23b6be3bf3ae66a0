import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { expectAccessible, findingsOf } from '../axe.ts';
import { type DashboardWorld, hold, startDashboard, wholeView } from './dashboard-world.ts';

const COUNTDOWN = /Rate limit reached/;

describeWith([chromium, dashboardPackages], 'the dashboard at the end of its budget', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeAll(async () => {
    // Of the 13 calls of the first window one is left after the first view, and one more for writes.
    world = await startDashboard({
      limit: { requests: 13, windowMs: 20_000 },
    });
    page = await world.open();
    await wholeView(page);
  });
  afterAll(() => world?.close());

  const channels = () => page.getByRole('region', { name: 'Channels' });
  const codes = () => page.getByRole('region', { name: 'QR codes' });

  it('counts down where it has nothing to show', async () => {
    await channels()
      .getByRole('button', { name: /^Packaging codes/ })
      .click();
    await channels().getByText('QR code').first().waitFor();
    await channels()
      .getByRole('button', { name: /^Pitch material/ })
      .click();
    await channels().getByText(COUNTDOWN).waitFor();
    expect(await channels().getByRole('timer').textContent()).toMatch(/^\d+ s$/);
  });

  it('shows a code without its statistics', async () => {
    await codes()
      .getByRole('button', { name: /^Wren Ceramics, table card/ })
      .click();
    await codes().getByText(COUNTDOWN).waitFor();
    expect(await codes().getByRole('img', { name: 'loading' }).count()).toBe(3);
    expect(await codes().getByRole('rowheader').count()).toBe(6);
  });

  it('is accessible meanwhile', () => expectAccessible(page));

  it('asks again by itself, and shows what it gets', async () => {
    await channels().locator('.items li').first().waitFor();
    await channels().getByText(COUNTDOWN).waitFor({ state: 'detached' });
    await codes().getByText('Germany (112)').waitFor({ state: 'attached' });
    await codes().getByText(COUNTDOWN).waitFor({ state: 'detached' });
  });
});

describeWith([chromium, dashboardPackages], 'the dashboard with little to show', () => {
  let world: DashboardWorld;

  afterEach(() => world?.close());

  it('describes empty lists, and shows skeletons for pending ones', async () => {
    world = await startDashboard({ key: 'free' });
    const release = hold(world);
    const page = await world.open();
    await page.getByRole('status', { name: 'Loading QR codes' }).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    release();
    await page.getByText('No campaigns yet').waitFor();
    await wholeView(page);
    expect(await findingsOf(page)).toEqual([]);
  });

  it('shows a failure next to loaded panels, and retries on request', async () => {
    world = await startDashboard();
    const path = '/api/campaigns';
    const mend = world.sandbox.links.fault({ kind: 'html', path });
    const page = await world.open();
    const panel = page.getByRole('region', { name: 'Campaigns' });
    await panel.getByRole('alert').waitFor();
    await page.getByText('studio@larkspurfinch.com').waitFor();
    expect(await panel.locator('.receipt').count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
    mend();
    await panel.getByRole('button', { name: 'Try again' }).click();
    await panel.getByText('Closing sale').waitFor();
    await panel.locator('.receipt').waitFor();
  });
});
