import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { findingsOf } from '../axe.ts';
import { type DashboardWorld, startDashboard, wholeView } from './dashboard-world.ts';

describeWith([chromium, dashboardPackages], 'the badge of what is live', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeAll(async () => {
    world = await startDashboard();
    page = await world.open();
    await wholeView(page);
  });
  afterAll(() => world?.close());

  const badges = (text: string) => page.locator('.panel-account, .panel-channels').getByText(text);
  const shows = async (text: string) => {
    await badges(text).first().waitFor();
    expect(await badges(text).count()).toBe(2);
  };

  it('is not shown as live while the network is away, and is again once it is back', async () => {
    await shows('Live');
    await page.context().setOffline(true);
    await shows('Reconnecting');
    expect(await badges('Live').count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
    await page.context().setOffline(false);
    await shows('Live');
    await world.ask('mutation { createChannel(input: { name: "Made meanwhile" }) { __typename } }');
    await page.getByRole('button', { name: /^Made meanwhile/ }).waitFor();
  });
});
