import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { tempFolder } from '../support/folder.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { findingsOf } from './axe.ts';
import { openBrowser } from './browser.ts';

const callers = ['web', 'shop', 'noisy'] as const;
type Caller = (typeof callers)[number];

const sizes = [
  [1280, 800],
  [390, 844],
] as const;
const schemes = ['light', 'dark'] as const;

describeWith(chromium, 'the console in trouble', () => {
  const clock = new VirtualClock();
  const folder = tempFolder();
  const tokens = join(folder, 'tokens.json');
  const env = {
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: tokens,
    MAX_WAIT_MS: '120000',
    // One caller uses the whole window.
    writeReserve: '0',
    newcomerReserve: '0',
    shutdownGraceMs: '0',
  };
  let sandbox: Sandbox;
  let busy: BusyGateway;
  let browser: Browser;
  const waiting: Promise<unknown>[] = [];

  const ask = (caller: Caller, query: string, wait = 0) =>
    busy.ask(query, { headers: { authorization: `Bearer ${caller}`, prefer: `wait=${wait}` } });
  const search = (caller: Caller, page: number, wait = 0) =>
    ask(caller, `query Search { files(search: "${page}") { totalCount } }`, wait);
  const home = () => ask('web', 'query Home { account { username } }');

  /** One caller spends most of the limit, then the upstream fails, and the attempts to reach it spend the rest. */
  async function outage(): Promise<void> {
    await home();
    await ask('shop', 'query Cart { campaigns { totalCount } }');
    for (let page = 1; page <= 20; page += 1) await search('noisy', page);
    for (let times = 0; times < 60; times += 1) await home();
    sandbox.links.fault({ kind: 'error-500' });
    const { length } = sandbox.links.requests;
    for (let n = 0; sandbox.links.requests.length < length + 8; n += 1) {
      await ask(
        'shop',
        n % 2 === 0
          ? 'query Cart { domains { totalCount } }'
          : 'query Cart { overlays { totalCount } }',
      );
      await clock.advance(1000);
    }
    // The circuit breaker lets the next request find out, for which no slot is free.
    await clock.advance(16_000);
    for (let page = 100; page < 120; page += 1) await search('noisy', page);
    for (let page = 1; page <= 2; page += 1) waiting.push(search('shop', page + 200, 600));
    while (!(await metrics()).includes('lane="interactive"} 2\n')) await clock.settle();
    await clock.advance(3000);
  }

  const metrics = async (): Promise<string> => (await fetch(`${busy.url}/metrics`)).text();

  beforeAll(async () => {
    const known = (name: Caller) =>
      ({ name, role: 'viewer', sha256: hash('sha256', name) }) as const;
    writeFileSync(tokens, formatTokenFile(callers.map(known)));
    sandbox = await startSandbox({ clock });
    browser = await openBrowser();
    busy = await busyGateway(env, { clock, sandbox });
    await outage();
  });

  afterAll(async () => {
    await browser?.close();
    sandbox?.links.clearFaults();
    await clock.advance(600_000);
    await Promise.allSettled(waiting);
    await sandbox?.close();
  });

  const views = sizes.flatMap(([width, height]) =>
    schemes.map((scheme) => [width, height, scheme] as const),
  );

  describe.each(views)('in %i by %i pixels, %s', (width, height, colorScheme) => {
    let page: Page;
    let shown: string;
    beforeAll(async () => {
      page = await browser.newPage({ colorScheme, viewport: { width, height } });
      await page.goto(`${busy.url}/console`);
      await page.locator('#state').getByText('Failing', { exact: true }).waitFor();
      shown = await textInView(page);
    });
    afterAll(() => page.close());

    it.each([
      [
        'that it is not well, and why',
        /\b\d\d % of \d+ operations fail: BUDGET_EXHAUSTED, mostly noisy/,
      ],
      ['whether the limit is near', /Link-management API: 0 of 30 left, next slot in \d+ s/],
      ['who spends', /noisy \d\d %, shop \d\d %, web \d+ % of \d+/],
      ['who waits, and how long', /shop 2, up to \d s/],
      [
        'since when the upstream fails, and why',
        /Link-management API: HTTP 500 with a JSON error since \d+:\d+:\d+\D*, 8 in a row, next attempt in \d+ s/,
      ],
      ['that the other upstream does not', /Marketplace API: no requests yet/],
      ['what fails', /BUDGET_EXHAUSTED 20: noisy 20\s+UPSTREAM_UNAVAILABLE \d+: shop \d+/],
      [
        'how well the cache does, and how old answers are',
        /Hit rate \d+ %, wait p95 .*, oldest data \d+ s/,
      ],
    ])('says on one screen %s', (_, text) => {
      expect(shown).toMatch(text);
    });

    it('has no finding of axe', async () => {
      expect(await findingsOf(page)).toEqual([]);
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(beyond).toBe(0);
    });
  });

  describe('below', () => {
    let page: Page;
    beforeAll(async () => {
      page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      await page.goto(`${busy.url}/console`);
      await page.locator('#events tbody tr').first().waitFor();
    });
    afterAll(() => page.close());

    const events = () => page.locator('#events tbody tr').allTextContents();

    it('groups events, with their callers', async () => {
      const search = (await events()).find((text) => text.includes('Search'));
      expect(search).toMatch(/operation.*Search: BUDGET_EXHAUSTED ×20.*noisy/);
    });

    it('finds a request by its id, and a caller by name', async () => {
      const headers = {
        authorization: 'Bearer noisy',
        prefer: 'wait=0',
        'x-request-id': 'lost-one',
      };
      await busy.ask('query Search { files(search: "x") { totalCount } }', { headers });
      await search('noisy', 121);
      await clock.advance(1000);
      const find = page.getByLabel('Search events');
      await find.fill('lost-one');
      await page.locator('#events').getByText('lost-one').waitFor();
      expect(await events()).toHaveLength(1);
      await find.fill('shop');
      await expect
        .poll(async () => (await events()).every((text) => text.includes('shop')))
        .toBe(true);
      await find.fill('');
    });

    it('has no card for an API that is asked nothing', async () => {
      expect(await page.locator('.upstream h2').allTextContents()).toEqual(['Link-management API']);
    });

    it('expects nothing to be sent before the next attempt', async () => {
      expect(await page.locator('.next-read').first().textContent()).toMatch(
        /^A new read is sent in about \d+ s$/,
      );
    });
  });
});

/** The text of a page that is seen without scrolling, a line for each piece. */
function textInView(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { clientHeight, clientWidth } = document.documentElement;
    const texts: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const { bottom, height, left, right, top } = range.getBoundingClientRect();
      const isInside = top >= 0 && left >= 0 && bottom <= clientHeight && right <= clientWidth;
      if (height > 0 && isInside) texts.push(node.textContent ?? '');
    }
    return texts.join('\n');
  });
}
