import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { builtPages, chromium, describeWith } from '../support/needs.ts';
import { findingsOf } from './axe.ts';
import { openBrowser } from './browser.ts';
import { views } from './dashboard/dashboard-world.ts';

describeWith([chromium, builtPages], 'The page at /', () => {
  let browser: Browser;
  let gateway: Gateway;
  let url = '';
  beforeAll(async () => {
    gateway = await createGateway(loadConfig({ PORT: '0' }));
    ({ url } = await gateway.listen());
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  it.each(views)('is accessible and fits: $scheme, $width', async ({ scheme, width }) => {
    const page = await browser.newPage({ colorScheme: scheme, viewport: { width, height: 800 } });
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(url);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(await page.evaluate('getComputedStyle(document.querySelector("a")).minHeight')).toBe(
      '44px',
    );
    expect(complaints).toEqual([]);
    expect(await findingsOf(page)).toEqual([]);
    await page.close();
  });

  it('leads to every other page, and to the sandbox that it names', async () => {
    const page = await browser.newPage();
    for (const name of ['GraphiQL', 'Console', 'Schema', 'Health']) {
      await page.goto(url);
      const answered = page.waitForResponse((response) => response.request().isNavigationRequest());
      await page.getByRole('link', { name, exact: true }).click();
      expect([name, (await answered).status()]).toEqual([name, 200]);
    }
    await page.goto(url);
    const addresses = await page.locator('code').allTextContents();
    expect(addresses).toHaveLength(2);
    for (const address of addresses) {
      expect((await fetch(`${address}/__faults`)).status).toBe(200);
    }
    await page.close();
  });
});
