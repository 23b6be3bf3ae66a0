import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { builtPages, chromium, describeWith } from '../support/needs.ts';
import { expectAccessible } from './axe.ts';
import { openBrowser } from './browser.ts';

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

  it('is accessible, with targets of 44 px', async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(url);
    const height = 'getComputedStyle(document.querySelector("a")).minHeight';
    expect(await page.evaluate(height)).toBe('44px');
    await expectAccessible(page);
    expect(complaints).toEqual([]);
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
