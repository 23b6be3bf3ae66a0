import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { findingsOf } from './axe.ts';
import { openBrowser } from './browser.ts';

const views = ([1280, 390] as const).flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => [width, scheme] as const),
);

describeWith(chromium, 'the jobs in the console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'console-jobs-'));
  let busy: BusyGateway;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const tokens = join(folder, 'tokens.json');
    const all = (['boss', 'shop'] as const).map((name) => ({
      name,
      role: name === 'boss' ? ('admin' as const) : ('viewer' as const),
      sha256: hash('sha256', name),
    }));
    writeFileSync(tokens, formatTokenFile(all));
    const env = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: tokens, STATE_DIR: join(folder, 'state') };
    busy = await busyGateway(env);
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${busy.url}/console`);
  });

  afterAll(async () => {
    await browser?.close();
    await busy?.close();
    rmSync(folder, { recursive: true });
  });

  const section = () => page.locator('#jobs');
  const row = () => section().locator('tbody tr').first();
  const press = (name: string) => section().getByRole('button', { name }).press('Enter');
  const useToken = async (token: string): Promise<void> => {
    await page.getByText('Token', { exact: true }).click();
    await page.getByLabel(/Admin token/).fill(token);
    await page.getByRole('button', { name: 'Use token' }).click();
  };

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

  it('shows a job with its progress, and no buttons without a token of an administrator', async () => {
    await startLater('shop');
    await row().getByText('queued').waitFor();
    const cells = await row().locator('td:visible').allInnerTexts();
    expect(cells).toEqual(['qrCodes', 'shop', 'queued', '0', '0', '–', '0', '']);
    expect(await section().getByRole('button').count()).toBe(0);
  });

  it('lets an administrator pause, resume and cancel it by keys', async () => {
    await useToken('boss');
    await press('Pause the export of qrCodes');
    await row().getByText('paused').waitFor();
    await section().getByRole('status').getByText('The export of qrCodes was paused.').waitFor();
    // The same button, which has kept the focus.
    const focused = page.locator(':focus');
    expect(await focused.getAttribute('aria-label')).toBe('Resume the export of qrCodes');
    await page.keyboard.press('Enter');
    await row().getByText('queued').waitFor();
    page.once('dialog', (dialog) => dialog.dismiss());
    await press('Cancel the export of qrCodes');
    expect(await row().getByText('queued').count()).toBe(1);
    page.once('dialog', (dialog) => dialog.accept());
    await press('Cancel the export of qrCodes');
    await row().getByText('canceled').waitFor();
    expect(await section().getByRole('button').count()).toBe(0);
    expect(await focused.textContent()).toBe('The export of qrCodes was canceled.');
  });

  it('says why an action was refused', async () => {
    await startLater('boss');
    await row().getByText('queued').waitFor();
    // Names are shown on the machine of the gateway, but the job is another caller's.
    await useToken('shop');
    await press('Pause the export of qrCodes');
    const reason = 'The export of qrCodes was not paused. There is no job with this ID.';
    await section().getByRole('status').getByText(reason).waitFor();
    expect(await row().getByText('queued').count()).toBe(1);
  });

  it.each(views)('is accessible with %i pixels, %s', async (width, colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    expect(await findingsOf(page)).toEqual([]);
    const beyond = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(beyond).toBe(0);
  });
});
