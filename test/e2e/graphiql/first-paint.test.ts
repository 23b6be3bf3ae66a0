import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { chromium, describeWith } from '../../support/needs.ts';
import { findingsOf } from '../axe.ts';
import { openBrowser } from '../browser.ts';
import { editorsOf, facts, openPage, THEIRS } from './open-page.ts';

/** What a person waits at most who has 10 Mbit/s and a quarter of this processor. */
const PATIENCE_MS = 2000;

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

  /** Loads the page as over a line and with a processor as they are; returns what was there when. */
  async function loadSlowly() {
    const context = await browser.newContext();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 40,
      downloadThroughput: 1.25e6,
      uploadThroughput: 1.25e6,
    });
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await page.goto(`${url}/graphql`, { waitUntil: 'commit' });
    await editorsOf(page);
    const times = await page.evaluate(() => {
      const startOf = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? 0;
      const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      return {
        firstPaint: startOf('first-contentful-paint'),
        usable: startOf('usable'),
        editors: startOf('editors'),
        bytes: resources.reduce((sum, { transferSize }) => sum + transferSize, 0),
      };
    });
    await context.close();
    return times;
  }

  it('shows something useful within two seconds on a slow line', async () => {
    const loads: Awaited<ReturnType<typeof loadSlowly>>[] = [];
    const useful = () =>
      Math.min(...loads.map(({ firstPaint, usable }) => Math.max(firstPaint, usable)));
    // Other tests share the machine: the fastest of up to three loads decides.
    while (loads.length === 0 || (loads.length < 3 && useful() >= PATIENCE_MS)) {
      loads.push(await loadSlowly());
    }
    for (const { bytes, editors, firstPaint, usable } of loads) {
      const ms = [firstPaint, usable, editors].map((time) => `${Math.round(time)} ms`);
      process.stdout.write(
        `first paint ${ms[0]}, usable ${ms[1]}, editors ${ms[2]}, ${Math.round(bytes / 1000)} kB\n`,
      );
    }
    expect(useful()).toBeLessThan(PATIENCE_MS);
    expect(Math.min(...loads.map(({ bytes }) => bytes))).toBeLessThan(1_700_000);
  });

  /** Holds back the editors until it is told to let them through. */
  async function openWithoutEditors() {
    let release = (): void => undefined;
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const opened = await openPage(browser, url, { hold });
    await opened.page.locator('#shell-run:enabled').waitFor();
    return { ...opened, release };
  }

  const boxOf = (page: Page, selector: string) => page.locator(selector).first().boundingBox();

  it('runs an operation before its editors are there, and keeps all of it when they come', async () => {
    const { complaints, page, release } = await openWithoutEditors();
    await page.locator('#cost').getByText('12 upstream requests').waitFor();
    await page.locator('#shell-run').click();
    await page.locator('#shell-result').getByText('"data"').waitFor();
    expect(await facts(page)).toMatch(
      /^12 upstream requests, 0 saved, \d+ ms waited, oldest data 0 s$/,
    );
    const result = (await page.locator('#shell-result').textContent()) ?? '';
    const text = page.locator('#shell-query');
    await text.press('ControlOrMeta+Home');
    await page.keyboard.type('# typed early\n');
    const before = {
      run: await boxOf(page, '#shell-run'),
      strip: await boxOf(page, '#strip'),
      code: await boxOf(page, '.shell-editor .shell-code'),
      cost: await boxOf(page, '#cost'),
    };
    release();
    await editorsOf(page);
    const editor = page.locator('.graphiql-query-editor .view-lines');
    await editor.getByText('typed early').waitFor();
    await page.keyboard.type('# and late');
    await editor.getByText('and late').waitFor();
    const after = {
      run: await boxOf(page, '.graphiql-execute-button'),
      strip: await boxOf(page, '#strip'),
      code: await boxOf(page, '.graphiql-query-editor .graphiql-editor'),
      cost: await boxOf(page, '#cost'),
    };
    for (const part of ['run', 'strip', 'code'] as const) {
      const [was, is] = [before[part], after[part]];
      expect([part, is?.x, is?.y]).toEqual([part, was?.x, was?.y]);
    }
    expect(await facts(page)).toContain('12 upstream requests');
    const shown = page.locator('.result-window');
    await shown.getByText('"account"').waitFor();
    expect(result).toContain('"account"');
    expect(complaints).toEqual([]);
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
            (document.querySelector('.run, .graphiql-execute-button')?.getBoundingClientRect()
              .right ?? 0) > innerWidth,
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
    const { page, release } = await openWithoutEditors();
    await page.emulateMedia({ colorScheme: scheme });
    expect(await findingsOf(page)).toEqual([]);
    release();
    await editorsOf(page);
    await page.locator('.graphiql-execute-button').click();
    await page.locator('.facts').getByText('upstream requests').waitFor();
    expect(await findingsOf(page, THEIRS)).toEqual([]);
    await page.context().close();
  });
});
