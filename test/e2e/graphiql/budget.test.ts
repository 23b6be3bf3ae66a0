import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configOf } from '../../support/config.ts';
import { chromium, describeWith } from '../../support/needs.ts';
import { openBrowser } from '../browser.ts';
import { editorsOf, facts, type OpenPage, openPage, run, write } from './open-page.ts';

/** Operations of one call each, which have none in common. */
const one = (field: 'campaigns' | 'channels' | 'overlays' | 'qrCodes') =>
  `query One { ${field}(first: 1) { totalCount } }`;

describeWith(chromium, 'GraphiQL with the budget in it', () => {
  let browser: Browser;
  const gateways: Gateway[] = [];
  const pages: OpenPage[] = [];
  const sandboxes: Pick<Sandbox, 'close'>[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterEach(async () => {
    for (const { page } of pages.splice(0)) await page.context().close();
    for (const gateway of gateways.splice(0)) await gateway.close();
    for (const sandbox of sandboxes.splice(0)) await sandbox.close();
  });
  afterAll(() => browser?.close());

  async function open(settings: Record<string, string>, path = '/graphql') {
    const config = configOf({ PORT: '0', ...settings });
    const gateway = await createGateway(config);
    gateways.push(gateway);
    const { url } = await gateway.listen();
    const opened = await openPage(browser, url, { path });
    pages.push(opened);
    await editorsOf(opened.page);
    return { ...opened, url };
  }

  /** A page of a gateway that gets one request through in a while. */
  async function openPoor(windowMs: number) {
    const { links, ...sandbox } = await startSandbox({ limit: { requests: 1, windowMs } });
    sandboxes.push(sandbox);
    const { page } = await open({
      LINKS_BASE_URL: links.url,
      LINKS_API_KEY: links.key,
      LINKS_RATE_LIMIT: '1',
      LINKS_RATE_WINDOW_MS: String(windowMs),
      MAX_WAIT_MS: '60000',
      INTROSPECTION: 'true',
      AUTH_MODE: 'none',
    });
    await write(page, one('channels'));
    await run(page);
    await page.locator('.facts').getByText('oldest').waitFor();
    return page;
  }

  it('says what an answer cost, and beside the button what a run would cost', async () => {
    const { page } = await open({}, `/graphql?query=${encodeURIComponent(one('campaigns'))}`);
    const cost = page.locator('#cost');
    await cost.getByText(/^(would cost|about) 1 upstream request/).waitFor();
    await run(page);
    await page.locator('.facts').getByText('oldest').waitFor();
    expect(await facts(page)).toMatch(
      /^1 upstream request, 0 saved, \d+ ms waited, oldest data 0 s$/,
    );
    await cost.getByText('would cost no upstream request, 1 saved').waitFor();
    await run(page);
    await page.locator('.facts').getByText('0 upstream requests').waitFor();
    expect(await facts(page)).toMatch(
      /^0 upstream requests, 1 saved, 0 ms waited, oldest data \d+ s$/,
    );
    await write(page, '{ qrCodes(first: 50) { nodes { statistics { clicks } } } }');
    await cost.getByText(/^too expensive: about 51 upstream requests/).waitFor();
  });

  it('asks for no price of what does not parse or fit the graph, and says on which line it is wrong', async () => {
    const { page } = await open({});
    const prices: string[] = [];
    page.on('request', (request) => {
      if ('x-gateway-dry-run' in request.headers()) prices.push(request.postData() ?? '');
    });
    await page.locator('#cost').getByText('12 upstream requests').waitFor();
    for (const [text, beside] of [
      ['{ chann', '1 error, line 1'],
      ['{\n  account { username }\n  nothingOfTheKind\n  norThis\n}', '2 errors, line 3'],
      [one('channels'), /^(would cost|about) 1 upstream request/],
      ['', /^$/],
    ] as const) {
      const seen = prices.length;
      await write(page, text);
      await expect.poll(() => page.locator('#cost').textContent()).toMatch(beside);
      expect(prices.slice(seen).filter((price) => !price.includes('One'))).toEqual([]);
    }
  });

  it('says where a text is wrong, without a stack', async () => {
    const { page } = await open({});
    await write(page, '{\n  channels(first: 1) {\n');
    await run(page);
    const complaint = page.locator('.complaints li');
    await complaint.first().waitFor();
    expect(await complaint.textContent()).toMatch(
      /^line 3:1 Syntax Error: .*GRAPHQL_PARSE_FAILED$/,
    );
    const result = await page.locator('.result-window').textContent();
    expect(result).not.toMatch(/stack|node_modules| at /);
    await write(page, '{ nothingOfTheKind }');
    await run(page);
    await complaint.getByText('line 1:3').waitFor();
    await write(page, '{ channels(first: 600) { totalCount } account { username } }');
    await run(page);
    await complaint.getByText('channels').waitFor();
    const shown = (await page.locator('.result-window').textContent()) ?? '';
    expect(shown.indexOf('"data"')).toBeLessThan(shown.indexOf('"errors"'));
    expect(shown).toContain('"username"');
  });

  it('counts down while it waits for its turn', async () => {
    const page = await openPoor(6000);
    await write(page, one('campaigns'));
    await run(page);
    await page
      .locator('.timer')
      .getByText(/^starts in \d+ s/)
      .waitFor();
    await page.locator('.facts').getByText('oldest').waitFor();
    expect(await page.locator('.timer').textContent()).toBe('');
  });

  it('keeps headers out of the memory of the browser, also of its history', async () => {
    const { page } = await open({});
    await page.locator('[data-name=headers]').click();
    await write(page, '{ "x-request-id": "not-to-be-kept" }', 'request-headers.json');
    await write(page, one('channels'));
    const kept = () => page.evaluate(() => JSON.stringify(Object.entries(localStorage)));
    // GraphiQL's history takes the text of the tab, which follows the editor after a pause.
    await expect.poll(kept).toContain('query One {');
    const sent = page.waitForRequest(
      (request) => request.headers()['x-request-id'] === 'not-to-be-kept',
    );
    await run(page);
    await sent;
    await page.locator('.facts').getByText('oldest').waitFor();
    await page.getByRole('button', { name: 'Show History' }).click();
    await page.locator('.graphiql-history-item').getByText('One').first().waitFor();
    expect(await kept()).not.toContain('not-to-be-kept');
  });
});
