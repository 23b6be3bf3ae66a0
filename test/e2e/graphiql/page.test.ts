import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { chromium, describeWith } from '../../support/needs.ts';
import { findingsOf } from '../axe.ts';
import { openBrowser } from '../browser.ts';
import { editorsOf, openPage, THEIRS } from './open-page.ts';

describeWith(chromium, 'The page of GraphiQL', () => {
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

  it('weighs at most 1.7 MB', async () => {
    const { page } = await openPage(browser, url);
    await editorsOf(page);
    const bytes = await page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).reduce(
        (sum, { transferSize }) => sum + transferSize,
        0,
      ),
    );
    expect(bytes).toBeLessThan(1_700_000);
    await page.context().close();
  });

  it.each([1280, 390])(
    'has room for everything at %i px, also with the docs open',
    async (width) => {
      const { page } = await openPage(browser, url, { width });
      const overflow = () =>
        page.evaluate(() => ({
          page: document.documentElement.scrollWidth > innerWidth,
          title: [...document.querySelectorAll('h1, .graphiql-doc-explorer-title')].some(
            (each) => each.scrollWidth > each.clientWidth,
          ),
          run:
            (document.querySelector('.graphiql-execute-button')?.getBoundingClientRect().right ??
              0) > innerWidth,
        }));
      await editorsOf(page);
      expect(await overflow()).toEqual({ page: false, title: false, run: false });
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.locator('.graphiql-doc-explorer').getByText('Query').first().waitFor();
      expect(await overflow()).toEqual({ page: false, title: false, run: false });
      await page.context().close();
    },
  );

  it.each(['light', 'dark'] as const)('has no finding of axe, in %s', async (scheme) => {
    const { page } = await openPage(browser, url);
    await page.emulateMedia({ colorScheme: scheme });
    await editorsOf(page);
    await page.locator('.graphiql-execute-button').click();
    await page.locator('.facts').getByText('upstream requests').waitFor();
    expect(await findingsOf(page, THEIRS)).toEqual([]);
    await page.context().close();
  });
});
