import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { findingsOf } from '../axe.ts';
import { type DashboardWorld, startDashboard, wholeView } from './dashboard-world.ts';

interface Usage {
  readonly feature: string;
  readonly used: number | null;
  readonly limit: number;
}

describeWith([chromium, dashboardPackages], 'the plan usage', () => {
  let world: DashboardWorld;

  beforeAll(async () => {
    world = await startDashboard();
  });
  afterAll(() => world?.close());

  const panel = (page: Page) => page.getByRole('region', { name: 'Plan usage' });

  it('is shown beside each limit, with a meter where it is known', async () => {
    const page = await world.open();
    await wholeView(page);
    const { data } = await world.ask('{ account { plan { name } usage { feature used limit } } }');
    const { plan, usage } = (
      data as { account: { plan: { name: string }; usage: readonly Usage[] } }
    ).account;
    await panel(page).getByText(plan.name, { exact: true }).waitFor();
    const number = (value: number) => new Intl.NumberFormat('en').format(value);
    const texts = await panel(page).locator('.spent').allTextContents();
    expect(texts).toEqual(
      usage.map(({ used, limit }) =>
        used === null ? `${number(limit)} included` : `${number(used)} of ${number(limit)}`,
      ),
    );
    const meters = await panel(page)
      .getByRole('meter')
      .evaluateAll((all) => (all as HTMLMeterElement[]).map(({ value, max }) => [value, max]));
    expect(meters).toEqual(
      usage.flatMap(({ used, limit }) => (used === null ? [] : [[Math.min(used, limit), limit]])),
    );
    expect(meters.length).toBeGreaterThan(2);
  });

  it('says which role is needed', async () => {
    const page = await world.open();
    await page.route('**/settings.json', async (route) => {
      const settings = await (await route.fetch()).json();
      await route.fulfill({ json: { ...settings, token: settings.neighbourToken } });
    });
    await page.reload();
    await panel(page).getByText('requires a token with the role admin').waitFor();
  });

  it('says whose key is needed, and leaves the rest as it is', async () => {
    await world.close();
    world = await startDashboard({ key: 'free' });
    const page = await world.open();
    await wholeView(page);
    await panel(page).getByText('requires the API key of an administrator').waitFor();
    expect(await panel(page).getByRole('button').count()).toBe(0);
    await page.getByText('No campaigns yet').waitFor();
    expect(await findingsOf(page)).toEqual([]);
  });
});
