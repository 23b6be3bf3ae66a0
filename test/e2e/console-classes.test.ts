import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { tokenFile } from '../support/folder.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser } from './browser.ts';

const CLASSES = JSON.stringify({
  agent: { weight: 0.5, maxCallsPerMinute: 3 },
  nightly: { weight: 0 },
});

describeWith(chromium, 'the classes in the console', () => {
  const clock = new VirtualClock();
  const waiting: Promise<unknown>[] = [];
  let busy: BusyGateway;
  let browser: Browser;

  const ask = (caller: string, list: string, wait = 0) =>
    busy.ask(`{ ${list} { totalCount } }`, {
      headers: { authorization: `Bearer ${caller}`, prefer: `wait=${wait}` },
    });

  /** One read of a person; a class that has used up a limit, does not wait, and then waits. */
  async function traffic(): Promise<void> {
    await ask('person', 'campaigns');
    for (const list of ['pixels', 'overlays', 'domains']) await ask('crawler', list);
    await ask('crawler', 'files');
    waiting.push(ask('crawler', 'splashPages', 120));
  }

  beforeAll(async () => {
    const tokens = tokenFile(
      { name: 'person', role: 'viewer' },
      { name: 'crawler', role: 'viewer', class: 'agent' },
    );
    const env = {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: tokens,
      CALLER_CLASSES: CLASSES,
      MAX_WAIT_MS: '600000',
      shutdownGraceMs: '0',
    };
    busy = await busyGateway(env, { clock });
    browser = await openBrowser();
    await traffic();
  });

  afterAll(async () => {
    await browser?.close();
    await busy?.close();
    await Promise.allSettled(waiting);
  });

  describe('with traffic', () => {
    let page: Page;
    beforeAll(async () => {
      page = await browser.newPage();
      await page.goto(`${busy.url}/console`);
      await page.locator('#classes tbody tr').first().waitFor();
    });
    afterAll(() => page.close());

    it('are listed with their weights, requests, shares, waiting requests and limits', async () => {
      const rows = await page.locator('#classes tbody tr').all();
      const cells = await Promise.all(rows.map((row) => row.locator('td').allInnerTexts()));
      expect(cells.map((row) => row.slice(0, 5))).toEqual([
        ['agent', '0.5', '3', '75 %', '1'],
        ['nightly', '0', '0', '0 %', '0'],
        ['default', '1', '1', '25 %', '0'],
      ]);
      const [ofLinks, ofMarket] = cells[0]?.[5]?.split(/\n+/) ?? [];
      expect(ofLinks).toMatch(/^Link-management API: 3 of 3 per minute \(next in \d+ s\)$/);
      expect(ofMarket).toBe('Marketplace API: 0 of 3 per minute');
      expect(cells.slice(1).map((row) => row[5])).toEqual(['none', 'none']);
      expect(await page.locator('#classes .bad').count()).toBe(1);
    });

    it('are beside the names of their callers, except the default', async () => {
      const cell = (table: string, column: number) =>
        page.locator(`${table} tbody tr td:nth-child(${column})`).allInnerTexts();
      expect(await cell('#waiting', 5)).toEqual(['crawler agent']);
      expect(await cell('#spenders', 1)).toEqual(['crawler agent', 'person']);
      await page.locator('#glance').getByText('crawler (agent) 75 %, person 25 % of 4').waitFor();
      await page
        .locator('#glance')
        .getByText(/^crawler \(agent\) 1, up to \d+ s$/)
        .waitFor();
      await page.locator('#glance').getByText('BUDGET_EXHAUSTED 1: crawler (agent) 1').waitFor();
      await page
        .locator('#verdict')
        .getByText(/mostly crawler \(agent\)/)
        .waitFor();
      await page.getByLabel('Search events').fill('agent');
      expect(await cell('#events', 5)).toEqual(['crawler agent']);
      await page.getByLabel('Search events').fill('');
      expect(await page.locator('.caller-class').allTextContents()).not.toContain('default');
    });

    it('are accessible', () => expectAccessible(page));
  });

  it('are absent if none is configured', async () => {
    const plain = await busyGateway();
    const page = await browser.newPage();
    await page.goto(`${plain.url}/console`);
    await page.locator('.upstream').first().waitFor();
    expect(await page.locator('#classes').isVisible()).toBe(false);
    await page.close();
  });
});
