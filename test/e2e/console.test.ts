import { readdirSync, readFileSync, statSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser } from './browser.ts';

/** One call each, and none of them asks for what another one has. */
const READS = [
  'query Account { account { username } }',
  'query Pixels { pixels { totalCount } }',
  'query Plans { plans { name } }',
];

const settings = { MAX_WAIT_MS: '600000', shutdownGraceMs: '0' };

describeWith(chromium, 'the console in a browser', () => {
  let busy: BusyGateway;
  let browser: Browser;
  let page: Page;
  const elsewhere: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    busy = await busyGateway(settings);
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.route('**/*', (route) => {
      const { href, origin } = new URL(route.request().url());
      if (origin === busy.url || href.startsWith('data:')) return route.continue();
      elsewhere.push(href);
      return route.abort();
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || /Content.Security.Policy/i.test(message.text())) {
        complaints.push(message.text());
      }
    });
    await page.goto(`${busy.url}/console`);
  });

  afterAll(async () => {
    await browser?.close();
  });

  const linksCard = () => page.locator('.upstream').first();

  it('describes empty tables in words', async () => {
    await page.locator('#waiting').getByText('No waiting requests.').waitFor();
    await page.locator('#operations').getByText('No operations.').waitFor();
    await page.locator('#state').getByText('Ready', { exact: true }).waitFor();
    expect(await linksCard().locator('.slot.free').count()).toBe(30);
  });

  it('shows as many used slots as the upstream has counted, with their owners', async () => {
    for (const query of READS) await busy.ask(query);
    const { length: sent } = busy.sandbox.links.requests;
    expect(sent).toBe(READS.length);
    await page.getByLabel(`${sent} of 30 slots are taken: ${sent} reads.`).waitFor();
    expect(await linksCard().locator('.slot:not(.free)').count()).toBe(sent);
    expect(await linksCard().locator('.slot.interactive').count()).toBe(sent);
    expect(await linksCard().locator('.free-count').textContent()).toBe('27 free of 30 in 60 s');
    expect(await linksCard().locator('.returns').textContent()).toMatch(
      /^Next slot in \d+ s, all in \d+ s$/,
    );
  });

  it('names what was sent for at the slot that is pointed at', async () => {
    await linksCard().locator('.slot').first().hover();
    await page
      .locator('.tooltip')
      .getByText(/^read · account · free in \d+ s$/)
      .waitFor();
    await page.mouse.move(0, 0);
  });

  it('shows each minute of the last hour by keyboard', async () => {
    const plot = page.locator('.plot input').first();
    for (let presses = 0; presses < 20; presses += 1) {
      await page.keyboard.press('Tab');
      if (await plot.evaluate((node) => node === document.activeElement)) break;
    }
    const told: (string | null)[] = [];
    for (let minutes = 0; minutes < 24; minutes += 1) {
      told.push(await plot.getAttribute('aria-valuetext'));
      await page.keyboard.press('ArrowLeft');
    }
    expect(told.some((text) => /\d reads?/.test(text ?? ''))).toBe(true);
    await page.keyboard.press('Home');
    await page.locator('.tooltip').getByText('nothing sent').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.tooltip').waitFor({ state: 'hidden' });
  });

  it('shows a refusal, why it is degraded and what to do', async () => {
    busy.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 120, times: 1 });
    void busy.ask('query Refused { splashPages { totalCount } }').catch(() => {});
    await page.locator('#events tr').filter({ hasText: 'refused' }).first().waitFor();
    await page.locator('#state').getByText('Degraded', { exact: true }).waitFor();
    const reason = await page.locator('#reasons li').first().textContent();
    expect(reason).toMatch(
      /refused a request because of its rate limit. Requests to it resume in .*co-tenants/,
    );
    expect(await page.locator('.plot .refusals').first().getAttribute('d')).not.toBe('');
  });

  it('lists what waits, and when it leaves', async () => {
    void busy.ask('query Patient { overlays { totalCount } }').catch(() => {});
    const row = page.locator('#waiting tbody tr').filter({ hasText: 'Patient' });
    await row.waitFor();
    const cells = await row.locator('td').allTextContents();
    expect(cells[0]).toMatch(/^in \d+ (s|min)$/);
    expect(cells.slice(1, 4)).toEqual(['read', 'overlays', 'Patient']);
  });

  it('is accessible', () => expectAccessible(page));

  it('keeps what is pointed at and what has the focus from one state to the next', async () => {
    const row = await page.locator('#waiting tbody tr').first().elementHandle();
    const leaves = await row?.textContent();
    await page.locator('.plot input').first().focus();
    await page.waitForFunction(
      (before) => document.querySelector('#waiting tbody tr')?.textContent !== before,
      leaves,
    );
    expect(await row?.evaluate((node) => node.isConnected)).toBe(true);
    expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('range');
  });

  it('asked no other host, and had no complaint', () => {
    expect(elsewhere).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('may do the same when it is opened again and has not changed', async () => {
    // In a page of its own: to look at a page's requests would turn its cache off.
    const visitor = await browser.newPage();
    for (const visit of ['the first', 'the second, answered with 304', 'the third']) {
      await visitor.goto(`${busy.url}/console`);
      await visitor.locator('.upstream').first().waitFor();
      expect(await visitor.locator('.upstream').count(), visit).toBe(1);
    }
    await visitor.close();
  });

  it('reports that the gateway is gone, and continues when it is back', async () => {
    const { port } = new URL(busy.url);
    await busy.close();
    await page.locator('#trouble').getByText('Reconnecting.').waitFor();
    await page.locator('#state').getByText('Not connected').waitFor();
    expect(await linksCard().locator('.slot').count()).toBe(30);
    busy = await busyGateway({ ...settings, PORT: port });
    await page.locator('#state').getByText('Ready', { exact: true }).waitFor();
    await page.locator('#trouble').waitFor({ state: 'hidden' });
  });
});

describe('the page of the console', () => {
  it('weighs little, with all that it loads', () => {
    const document = readFileSync('dist/pages/console.html');
    const assets = readdirSync('dist/pages/assets').filter((name) => /^console-.*\.gz$/.test(name));
    const named = assets.filter((name) => document.includes(name.replace(/\.gz$/, '')));
    expect(new Set(named.map((name) => name.split('.').at(-2)))).toEqual(new Set(['css', 'js']));
    const sizes = named.map((name) => statSync(`dist/pages/assets/${name}`).size);
    const bytes = sizes.reduce((sum, size) => sum + size, gzipSync(document).byteLength);
    expect(bytes).toBeLessThan(17_000);
  });

  it('is for callers on this machine unless everyone may see it', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const closed = await busyGateway();
    const open = await busyGateway({ metrics: 'open' });
    const statuses = await Promise.all(
      [closed, open].map(async ({ url }) => (await fetch(`${url}/console`, { headers })).status),
    );
    expect(statuses).toEqual([403, 200]);
    await Promise.all([closed, open].map((each) => each.close()));
  });
});
