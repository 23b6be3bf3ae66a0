import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { tempFolder, tokenFile } from '../support/folder.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser } from './browser.ts';

describeWith(chromium, 'the usage in the console', () => {
  const clock = new VirtualClock();
  const folder = tempFolder();
  let busy: BusyGateway;
  let browser: Browser;

  const ask = (caller: string, name: string, list: string) =>
    busy.ask(`query ${name} { ${list} { totalCount } }`, {
      headers: { authorization: `Bearer ${caller}` },
    });

  beforeAll(async () => {
    const tokens = tokenFile(
      { name: 'person', role: 'viewer' },
      { name: 'crawler', role: 'viewer', class: 'agent' },
      { name: 'boss', role: 'admin' },
    );
    const env = {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: tokens,
      CALLER_CLASSES: '{"agent": {}}',
      metrics: 'open',
      STATE_DIR: join(folder, 'state'),
    };
    busy = await busyGateway(env, { clock });
    browser = await openBrowser();
    for (const list of ['pixels', 'overlays']) await ask('crawler', 'Crawl', list);
    await ask('crawler', 'Compare', 'domains');
    await clock.advance(24 * 3600 * 1000);
    await ask('person', 'Home', 'campaigns');
    for (let time = 0; time < 5; time += 1) await ask('person', 'Home', 'campaigns');
  });

  afterAll(() => browser?.close());

  async function open(headers: Readonly<Record<string, string>> = {}): Promise<Page> {
    const page = await browser.newPage({ extraHTTPHeaders: headers });
    await page.goto(`${busy.url}/console`);
    await page.locator('#usage').waitFor();
    return page;
  }

  const rowsOf = async (page: Page): Promise<string[][]> => {
    const rows = await page.locator('#usage tr').all();
    return Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()));
  };

  it('lists callers with their requests of the month, and those they did not need', async () => {
    const page = await open();
    await page.locator('#usage tbody tr').first().waitFor();
    expect(await rowsOf(page)).toEqual([
      ['Caller', 'Requests', 'Share', 'Saved'],
      ['crawler', '3', '75 %', '0'],
      ['person', '1', '25 %', '5'],
    ]);
    await page
      .locator('#usage')
      .getByText('4 requests sent, 5 saved by the cache and shared requests (56 %).')
      .waitFor();
    expect(await page.getByLabel('From').inputValue()).toBe('2030-01-01');
    expect(await page.getByLabel('to', { exact: true }).inputValue()).toBe('2030-01-02');
    await page.close();
  });

  it('groups by what is chosen, and saves the same as a file', async () => {
    const page = await open();
    await page.locator('#usage tbody tr').first().waitFor();
    await page.getByRole('checkbox', { name: 'Day' }).check();
    await page.getByRole('checkbox', { name: 'Class' }).check();
    await page.locator('#usage th', { hasText: 'Class' }).waitFor();
    await page.getByRole('checkbox', { name: 'Operation' }).check();
    await page.locator('#usage th', { hasText: 'Operation' }).waitFor();
    expect(await rowsOf(page)).toEqual([
      ['Day', 'Class', 'Caller', 'Operation', 'Requests', 'Share', 'Saved'],
      ['2030-01-01', 'agent', 'crawler', 'Crawl', '2', '50 %', '0'],
      ['2030-01-01', 'agent', 'crawler', 'Compare', '1', '25 %', '0'],
      ['2030-01-02', 'default', 'person', 'Home', '1', '25 %', '5'],
    ]);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('usage.csv');
    expect(readFileSync((await file.path()) ?? '', 'utf8').split('\r\n')).toEqual([
      'day,callerClass,caller,operation,calls,saved',
      '2030-01-01,agent,crawler,Crawl,2,0',
      '2030-01-01,agent,crawler,Compare,1,0',
      '2030-01-02,default,person,Home,1,5',
      '',
    ]);
    await page.close();
  });

  it('is of the period that is chosen', async () => {
    const page = await open();
    await page.locator('#usage tbody tr').first().waitFor();
    await page.getByLabel('From').fill('2030-01-02');
    await page.locator('#usage').getByText('1 request sent').waitFor();
    expect((await rowsOf(page)).slice(1)).toEqual([['person', '1', '100 %', '5']]);
    await page.getByLabel('From').fill('2020-01-01');
    await page.getByLabel('to', { exact: true }).fill('2020-01-02');
    await page.locator('#usage').getByText('No requests in this period.').waitFor();
    await page.close();
  });

  it('is shown elsewhere with the token of an administrator', async () => {
    const page = await open({ 'x-forwarded-for': '192.0.2.1' });
    await page.locator('#usage').getByText('Usage is shown on the gateway’s machine').waitFor();
    expect(await page.getByLabel('From').isVisible()).toBe(false);
    await page.getByText('Token', { exact: true }).click();
    await page.getByLabel('Admin token').fill('boss');
    await page.keyboard.press('Enter');
    await page.locator('#usage tbody tr').first().waitFor();
    expect((await rowsOf(page)).slice(1)).toEqual([
      ['crawler', '3', '75 %', '0'],
      ['person', '1', '25 %', '5'],
    ]);
    await page.close();
  });

  it('is accessible', async () => {
    const page = await open();
    await page.locator('#usage tbody tr').first().waitFor();
    await expectAccessible(page);
    await page.close();
  });
});
