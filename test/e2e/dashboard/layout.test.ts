import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { expectAccessible, findingsOf } from '../axe.ts';
import { type DashboardWorld, hold, startDashboard, wholeView } from './dashboard-world.ts';

/** Where something is on the page. */
async function boxOf(page: Page, selector: string) {
  const box = await page.locator(selector).first().boundingBox();
  return box && { top: Math.round(box.y), height: Math.round(box.height) };
}

describeWith([chromium, dashboardPackages], 'the layout of the dashboard', () => {
  let world: DashboardWorld;

  beforeAll(async () => {
    world = await startDashboard();
  });
  afterAll(() => world?.close());

  it('covers no head of a table with what is still loading', async () => {
    const release = hold(world, { path: /^\/api\/qr\/\d+$/ });
    const page = await world.open();
    await wholeView(page);
    await page.locator('.panel-qr .row').first().click();
    await page.locator('.pulse').first().waitFor();
    const onTop = await page.evaluate(() => {
      const [box, pulse, head] = ['.panel-qr .scroll', '.pulse', '.panel-qr thead th'].map(
        (selector) => document.querySelector<HTMLElement>(selector),
      );
      if (!box || !pulse || !head) return null;
      const middle = (part: Element): number => {
        const { top, height } = part.getBoundingClientRect();
        return top + height / 2;
      };
      // Few rows fit, so that there is enough to scroll.
      box.style.height = '200px';
      box.scrollTop += middle(pulse) - middle(head);
      const { left, width } = pulse.getBoundingClientRect();
      return document.elementFromPoint(left + width / 2, middle(pulse))?.tagName;
    });
    expect(onTop).toBe('TH');
    release();
    await page.close();
  });

  it('is there before the script, and stays', async () => {
    const shell = await world.open(undefined, 'no script');
    await shell.getByRole('heading', { name: 'Channels' }).waitFor();
    const page = await world.open();
    await wholeView(page);
    await page.locator('.meter span').last().waitFor({ state: 'attached' });
    for (const width of [1280, 390]) {
      for (const each of [shell, page]) await each.setViewportSize({ width, height: 800 });
      for (const part of ['.top', '.panel-account > header', '.panel-qr > header', '.scroll']) {
        expect([part, await boxOf(page, part)]).toEqual([part, await boxOf(shell, part)]);
      }
    }
    await shell.close();
    await page.close();
  });

  it('shows both budgets at the full height of their meters, without moving', async () => {
    const page = await world.open();
    const meters = page.locator('.budgets').getByRole('meter');
    await wholeView(page);
    expect(await meters.count()).toBe(2);
    const before = await boxOf(page, '.panel-account');
    await world.ask('{ seller { balance } }');
    await page.waitForFunction(
      () => document.querySelectorAll('[role=meter]')[1]?.getAttribute('aria-valuenow') === '1',
    );
    const heights = await page.evaluate(() =>
      [...document.querySelectorAll('.meter')].map((meter) => [
        meter.getBoundingClientRect().height,
        meter.firstElementChild?.getBoundingClientRect().height,
      ]),
    );
    expect(heights).toEqual([
      [8, 8],
      [8, 8],
    ]);
    expect(await boxOf(page, '.panel-account')).toEqual(before);
    await page.close();
  });

  it('shows each code', async () => {
    const page = await world.open();
    await wholeView(page);
    const rows = page.locator('.panel-qr tbody tr');
    const count = await rows.count();
    await page.waitForFunction(
      (wanted) =>
        [...document.querySelectorAll<HTMLImageElement>('.picture img')].filter(
          ({ hidden, naturalWidth }) => !hidden && naturalWidth > 0,
        ).length === wanted,
      count,
    );
    await page.close();
  });

  it('has one primary button in a card at most, and the demo apart from the app', async () => {
    const page = await world.open();
    await wholeView(page);
    for (const card of await page.locator('.panel').all()) {
      const primary = card.locator('button:not(.quiet):not(.row)');
      expect(await primary.count()).toBeLessThanOrEqual(1);
    }
    const demo = page.getByRole('region', { name: 'Demo controls' });
    await demo.getByRole('region', { name: 'Noisy neighbor' }).waitFor();
    await demo.getByRole('region', { name: 'Failures' }).waitFor();
    expect(await page.locator('main .panel-neighbour, main .panel-failures').count()).toBe(0);
    await page.close();
  });

  it('has targets of at least 44 px', async () => {
    const page = await world.open({ scheme: 'light', width: 390 });
    await wholeView(page);
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('button, .field input, label.check')]
        .map((target) => ({
          name: target.textContent || target.getAttribute('name'),
          height: target.getBoundingClientRect().height,
        }))
        .filter(({ height }) => height < 44),
    );
    expect(small).toEqual([]);
    await page.close();
  });
});

describeWith([chromium, dashboardPackages], 'the failures of the demo', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeAll(async () => {
    world = await startDashboard();
    page = await world.open();
    await wholeView(page);
  });
  afterAll(() => world?.close());

  const panel = () => page.getByRole('region', { name: 'Failures' });
  const button = (name: RegExp) => panel().getByRole('button', { name });
  const pressed = (name: RegExp) => panel().getByRole('button', { name, pressed: true });

  it('are set by a button, shown with their end, seen in a panel, and taken back', async () => {
    await button(/^Error, 500/).click();
    await pressed(/^Error, 500 \d+ s$/).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    const channels = page.getByRole('region', { name: 'Channels' });
    await channels.getByRole('button', { name: /^Packaging codes/ }).click();
    await channels.locator('.notice').waitFor();
    expect(world.sandbox.links.requests.at(-1)?.fault).toBe('error-500');
    await button(/^Error, 500/).click();
    await pressed(/^Error, 500/).waitFor({ state: 'detached' });
  });

  it('distinguish a connection lost before a change from one lost after it', async () => {
    await button(/^Connection lost after/).click();
    await pressed(/^Connection lost after/).waitFor();
    expect(await pressed(/^Connection lost before/).count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('Lost and found');
    await page.getByRole('button', { name: 'Create campaign' }).click();
    const form = page.getByRole('form', { name: 'New campaign' });
    await form.getByText(/^Checking whether the campaign was created/).waitFor();
    await button(/^Connection lost after/).click();
    await pressed(/^Connection lost after/).waitFor({ state: 'detached' });
    const { links } = world.sandbox;
    const sent = links.requests.filter(({ path }) => path === '/api/campaign/add');
    expect(sent.map(({ fault }) => fault)).toEqual(['drop']);
    const listed = await fetch(`${links.url}/api/campaigns?limit=1`, {
      headers: { authorization: `Bearer ${links.key}` },
    });
    expect(await listed.text()).toContain('Lost and found');
  });

  it('are of the API that is chosen', async () => {
    await panel().getByLabel('Marketplace').check();
    await button(/^Key rejected/).click();
    await pressed(/^Key rejected/).waitFor();
    await panel().getByLabel('Links').check();
    await pressed(/^Key rejected/).waitFor({ state: 'detached' });
    const { links, market } = world.sandbox;
    const listed = async (url: string) =>
      ((await (await fetch(`${url}/__faults`)).json()) as { faults: { kind: string }[] }).faults;
    expect(await listed(links.url)).toEqual([]);
    expect(await listed(market.url)).toMatchObject([{ kind: 'bad-key' }]);
  });

  it('are accessible', async () => {
    await panel().getByLabel('Marketplace').check();
    await pressed(/^Key rejected/).waitFor();
    await expectAccessible(page);
  });
});
