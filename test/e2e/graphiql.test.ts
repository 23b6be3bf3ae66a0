import { type Browser, chromium as engine, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';

/** The example that goes on. */
const LIVE = 'LiveCampaigns';

describeWith(chromium, 'GraphiQL in a browser', () => {
  let gateway: Gateway;
  let browser: Browser;
  let page: Page;
  let url = '';
  const elsewhere: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    gateway = await createGateway(loadConfig({ PORT: '0' }));
    ({ url } = await gateway.listen());
    browser = await engine.launch({
      executablePath: chromium.path,
      args: [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    page = await browser.newPage();
    await page.route('**/*', (route) => {
      const target = new URL(route.request().url());
      if (target.origin === url || target.protocol === 'blob:' || target.protocol === 'data:') {
        return route.continue();
      }
      elsewhere.push(target.href);
      return route.abort();
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || /Content.Security.Policy/i.test(message.text())) {
        complaints.push(message.text());
      }
    });
    await page.goto(`${url}/`);
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  /** Opens the tab of an example. */
  async function turnTo(name: string): Promise<void> {
    await page.locator('.graphiql-tab-button').getByText(name, { exact: true }).click();
    // GraphiQL takes a moment to notice the new text; its address says when it has.
    await page.waitForURL(
      ({ searchParams }) =>
        /^(?:query|mutation) (\w+)/m.exec(searchParams.get('query') ?? '')?.[1] === name,
    );
  }

  it('opens on the example operations', async () => {
    const tabs = page.locator('.graphiql-tab-button');
    await tabs.first().waitFor();
    expect(await tabs.allTextContents()).toEqual([
      'Dashboard',
      'Channel',
      'QrStatistics',
      'Storefront',
      'Purchase',
      'NewCampaign',
      'NewQrCode',
      'NewPixel',
      LIVE,
    ]);
  });

  it('runs each of them at the press of a button and shows data without errors', async () => {
    const tabs = page.locator('.graphiql-tab-button');
    const names = (await tabs.allTextContents()).filter((name) => name !== LIVE);
    for (const [index, name] of names.entries()) {
      // The first is open, and its address says nothing yet.
      if (index > 0) await turnTo(name);
      const answered = page.waitForResponse((response) =>
        (response.request().postData() ?? '').includes(`"operationName":"${name}"`),
      );
      await page.locator('.graphiql-execute-button').click();
      const answer: unknown = await (await answered).json();
      expect(answer).toHaveProperty('data');
      expect(answer).not.toHaveProperty('errors');
      expect(Object.values((answer as { data: object }).data)).not.toContain(null);
      await page.locator('.result-window').getByText('"data"').first().waitFor();
    }
  });

  it('shows what has changed of a live query while it is looked at', async () => {
    await turnTo(LIVE);
    const sent = page.waitForRequest(
      (request) => request.headers()['accept'] === 'text/event-stream',
    );
    await page.locator('.graphiql-execute-button').click();
    // Else all of its text would stand in the address.
    expect((await sent).method()).toBe('POST');
    const result = page.locator('.result-window');
    await result.getByText('"totalCount"').waitFor();
    const name = 'Made while somebody looks';
    expect(await result.textContent()).not.toContain('Made');
    const query = `mutation { createCampaign(input: { name: "${name}" }) { __typename } }`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query });
    await fetch(`${url}/graphql`, { method: 'POST', headers, body });
    await result.getByText(name).first().waitFor();
    // It goes on until it is stopped.
    await page.locator('.graphiql-execute-button').click();
  });

  it('knows the schema, so that the documentation can be browsed', async () => {
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.locator('.graphiql-doc-explorer').getByText('Query').first().waitFor();
  });

  it('asked no other host, and the page had no complaint', () => {
    expect(elsewhere).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
