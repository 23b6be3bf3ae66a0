import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { tempFolder, tokenFile } from '../support/folder.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser } from './browser.ts';

describeWith(chromium, 'the jobs in the console', () => {
  const folder = tempFolder();
  let busy: BusyGateway;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const tokens = tokenFile({ name: 'boss', role: 'admin' }, { name: 'shop', role: 'viewer' });
    const env = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: tokens, STATE_DIR: join(folder, 'state') };
    busy = await busyGateway(env);
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${busy.url}/console`);
  });

  afterAll(() => browser?.close());

  const section = () => page.locator('#jobs');
  const row = () => section().locator('tbody tr').first();

  /** Starts an export that waits for its time. */
  const startLater = (caller: string) =>
    busy.ask(
      'mutation { startExport(input: { query: "{ qrCodes { nodes { name } } }", startAt: "2100-01-01T00:00:00Z" }) { __typename } }',
      { headers: { authorization: `Bearer ${caller}` } },
    );

  it('describes how to start one before there is any', async () => {
    await section().getByText('No jobs. Start one with startExport').waitFor();
    expect(await section().locator('table').isVisible()).toBe(false);
  });

  it('shows a job with its progress', async () => {
    await startLater('shop');
    await row().getByText('queued').waitFor();
    const cells = await row().locator('td:visible').allInnerTexts();
    expect(cells.slice(1)).toEqual(['qrCodes', 'shop', 'queued', '0', '0', '–', '0', '']);
  });

  it('is accessible', () => expectAccessible(page));
});
