import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { chromium, describeWith } from '../../support/needs.ts';
import { findingsOf } from '../axe.ts';
import { openBrowser } from '../browser.ts';
import { editorsOf, openPage, THEIRS } from './open-page.ts';

/** The buttons that open a dialog each. */
const OPENERS = ['Open short keys dialog', 'Open settings dialog'];

describeWith(chromium, 'The dialogs of GraphiQL', () => {
  let gateway: Gateway;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    gateway = await createGateway(loadConfig({ PORT: '0' }));
    const { url } = await gateway.listen();
    browser = await openBrowser();
    ({ page } = await openPage(browser, url));
    await editorsOf(page);
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  it.each(
    OPENERS.flatMap((name) => (['light', 'dark'] as const).map((scheme) => ({ name, scheme }))),
  )('have no finding of axe: $name, $scheme', async ({ name, scheme }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await page.getByRole('button', { name }).click();
    await page.getByRole('button', { name: 'Close dialog' }).waitFor();
    const findings = await findingsOf(page, THEIRS);
    await page.keyboard.press('Escape');
    await page.locator('.graphiql-dialog').waitFor({ state: 'detached' });
    expect(findings).toEqual([]);
  });

  it('close by a visible cross and by Escape, and return the focus to their buttons', async () => {
    for (const name of OPENERS) {
      const opener = page.getByRole('button', { name });
      for (const way of ['cross', 'Escape'] as const) {
        await opener.click();
        const close = page.getByRole('button', { name: 'Close dialog' });
        const cross = await close.locator('path').boundingBox();
        const frame = await close.locator('svg').boundingBox();
        expect(cross?.width).toBeGreaterThan(8);
        // What is outside of its frame is cut off, and its padding is not.
        expect((cross?.x ?? 0) - (frame?.x ?? 0)).toBeLessThan(12);
        if (way === 'cross') await close.click();
        else await page.keyboard.press('Escape');
        await page.locator('.graphiql-dialog').waitFor({ state: 'detached' });
        await expect
          .poll(() => opener.evaluate((button) => button === document.activeElement))
          .toBe(true);
      }
    }
    const token = page.getByRole('button', { name: 'Token', exact: true });
    await token.click();
    await page.getByLabel('Token', { exact: true }).press('Escape');
    await page.locator('#token').waitFor({ state: 'hidden' });
    expect(await token.evaluate((button) => button === document.activeElement)).toBe(true);
  });
});
