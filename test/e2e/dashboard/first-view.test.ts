import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { expectAccessible } from '../axe.ts';
import {
  browse,
  type DashboardWorld,
  receiptCalls,
  startDashboard,
  startDemo,
  wholeView,
} from './dashboard-world.ts';

/** A page that is looked at for long enough refreshes what is old; here nothing gets old. */
const LASTING = Object.fromEntries(
  [
    'account',
    'channels',
    'channelItems',
    'qrCodes',
    'campaigns',
    'users',
    'plans',
    'splashPages',
    'overlays',
    'pixels',
    'domains',
  ].map((name) => [`ttl.${name}`, '3600000']),
);

describeWith([chromium, dashboardPackages], 'the first view of the dashboard', () => {
  let world: DashboardWorld;
  let page: Page;

  beforeAll(async () => {
    world = await startDashboard({ env: LASTING });
    page = await world.open();
    await wholeView(page);
  });
  afterAll(() => world?.close());

  it('costs at most 12 calls, by its receipts and on the wire', async () => {
    const sum = sumOf(await receiptCalls(page));
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual(12);
    expect(world.sandbox.links.requests).toHaveLength(sum);
    expect(world.sandbox.market.requests).toEqual([]);
  });

  it('shows what there is', async () => {
    const row = page.getByRole('row', { name: /Wren Ceramics, table card/ });
    await row.getByText('214', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Archive/ }).waitFor();
    await page.getByText('studio@larkspurfinch.com').waitFor();
    await page.getByRole('list', { name: 'Campaigns' }).getByText('Closing sale').waitFor();
  });

  it('costs nothing when it is loaded again', async () => {
    world.sandbox.links.clearLog();
    await page.reload();
    await wholeView(page);
    const { overview: _, ...rest } = await receiptCalls(page);
    expect(rest).toEqual({ codes: 0, items: 0, usage: 0, campaigns: 0 });
    expect(world.sandbox.links.requests).toEqual([]);
  });

  it('shows the change of another client without a reload', async () => {
    await world.ask('mutation { createChannel(input: { name: "Made elsewhere" }) { __typename } }');
    await page.getByRole('button', { name: /^Made elsewhere/ }).waitFor();
  });

  it('is accessible', async () => {
    await expectAccessible(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.reload();
    await wholeView(page);
  });

  it('is reached by keyboard, and skips to its content', async () => {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    expect(await focused.textContent()).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await focused.getAttribute('id')).toBe('main');
    await page.keyboard.press('Tab');
    await page.keyboard.type('solar');
    await page
      .getByRole('row', { name: /Sundial Solar/ })
      .first()
      .waitFor();
    const channel = page.getByRole('button', { name: /^Packaging codes/ });
    await channel.focus();
    await page.keyboard.press('Enter');
    await page.locator('.items').getByText('QR code').first().waitFor();
    expect(await channel.getAttribute('aria-expanded')).toBe('true');
    await page.getByRole('button', { name: /^Drafts/ }).press('Space');
    await page.locator('.items').getByText('No items yet.').waitFor();
  });

  it('asked no other host, and had no complaint', () => {
    expect(world.elsewhere).toEqual([]);
    expect(world.complaints).toEqual([]);
  });

  it('weighs at most 101 kB gzipped, styles and all', () => {
    const folder = 'examples/dashboard/dist';
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const weighed = files.filter((name) => /\.(js|css|html)$/.test(name));
    expect(weighed.length).toBeGreaterThanOrEqual(3);
    const bytes = weighed.map((name) => gzipSync(readFileSync(join(folder, name))).length);
    expect(bytes.reduce((total, size) => total + size)).toBeLessThanOrEqual(101_000);
  });
});

describeWith([chromium, dashboardPackages], 'npm run demo', () => {
  it('shows the page on the sandbox without configuration, and ends at Ctrl-C', async () => {
    const { demo, url } = await startDemo({});
    const visit = await browse(url);
    const page = await visit.open();
    await wholeView(page);
    const { data } = await visit.ask('{ rateLimit { limit used } }');
    expect(data).toEqual({ rateLimit: { limit: 30, used: sumOf(await receiptCalls(page)) } });
    expect(visit.elsewhere).toEqual([]);
    await visit.close();
    demo.child.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('says in words why it cannot start', async () => {
    await expect(startDemo({ LINKS_RATE_LIMIT: 'many' })).rejects.toThrow(/LINKS_RATE_LIMIT/);
  });
});

function sumOf(calls: Readonly<Record<string, number>>): number {
  return Object.values(calls).reduce((total, each) => total + each);
}
