import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { configOf } from '../../support/config.ts';
import { chromium, describeWith } from '../../support/needs.ts';
import { openBrowser } from '../browser.ts';
import { editorsOf, type OpenPage, openPage } from './open-page.ts';

/** Whether a request runs an operation, and does not only ask for its price. */
function isRun(request: Request, name: string): boolean {
  const isDry = 'x-gateway-dry-run' in request.headers();
  return !isDry && (request.postData() ?? '').includes(`"operationName":"${name}"`);
}

/** The example that goes on. */
const LIVE = 'LiveCampaigns';
/** Examples with an answer in parts, or with something to choose first. */
const OTHERS = [LIVE, 'Deferred', 'Export', 'Jobs', 'Upload'];

describeWith(chromium, 'GraphiQL in a browser', () => {
  let gateway: Gateway;
  let browser: Browser;
  let page: Page;
  let opened: OpenPage;
  let url = '';

  beforeAll(async () => {
    // All examples together need more than one caller gets while slots are reserved for others.
    const noReserves = { writeReserve: '0', newcomerReserve: '0' };
    // The other examples have used most slots of the window.
    const jobs = { jobsMinPerMinute: '30' };
    gateway = await createGateway(configOf({ PORT: '0', ...noReserves, ...jobs }));
    ({ url } = await gateway.listen());
    browser = await openBrowser();
    opened = await openPage(browser, url);
    ({ page } = opened);
    await editorsOf(page);
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
      'QrCodeTable',
      'ScanHistory',
      'Storefront',
      'NewCampaign',
      'NewPixel',
      LIVE,
      'Deferred',
      'Export',
      'Jobs',
      'Upload',
    ]);
  });

  it('runs each of them at the press of a button and shows data without errors', async () => {
    const tabs = page.locator('.graphiql-tab-button');
    const names = (await tabs.allTextContents()).filter((name) => !OTHERS.includes(name));
    for (const [index, name] of names.entries()) {
      // The first is open, and its address says nothing yet.
      if (index > 0) await turnTo(name);
      const answered = page.waitForResponse((response) => isRun(response.request(), name));
      await page.locator('.graphiql-execute-button').click();
      const answer: unknown = await (await answered).json();
      expect(answer).toHaveProperty('data');
      expect(answer).not.toHaveProperty('errors');
      expect(Object.values((answer as { data: object }).data)).not.toContain(null);
      await page.locator('.result-window').getByText('"data"').first().waitFor();
    }
  });

  it('shows the parts of an answer as they come', async () => {
    await turnTo('Deferred');
    const answered = page.waitForResponse((response) => isRun(response.request(), 'Deferred'));
    await page.locator('.graphiql-execute-button').click();
    expect((await answered).headers()['content-type']).toContain('multipart/mixed');
    await page.locator('.result-window').getByText('"uniqueClicks"').first().waitFor();
    await page
      .locator('.facts')
      .getByText(/upstream requests?/)
      .waitFor();
  });

  it('sends the file that is chosen', async () => {
    await turnTo('Upload');
    const buffer = Buffer.from('one, two, three');
    await page
      .getByLabel('$input.file')
      .setInputFiles({ name: 'menu.csv', mimeType: 'text/csv', buffer });
    await page.locator('.graphiql-execute-button').click();
    await page.locator('.result-window').getByText('"shortUrl"').waitFor();
    expect(await page.locator('.complaints li').count()).toBe(0);
  });

  it('shows what has changed of a live query while it is looked at', async () => {
    await turnTo(LIVE);
    const sent = page.waitForRequest((request) =>
      (request.headers()['accept'] ?? '').startsWith('text/event-stream'),
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
    await page.locator('.facts').getByText('revision').waitFor();
    // It goes on until it is stopped.
    await page.locator('.graphiql-execute-button').click();
  });

  it('starts an export, and shows what becomes of it', async () => {
    await turnTo('Export');
    const answered = page.waitForResponse((response) => isRun(response.request(), 'Export'));
    await page.locator('.graphiql-execute-button').click();
    expect(await (await answered).json()).toMatchObject({
      data: {
        startExport: { __typename: 'Job', url: expect.stringMatching(/^\/jobs\/\d+\/data$/) },
      },
    });
    await turnTo('Jobs');
    await page.locator('.graphiql-execute-button').click();
    await page.locator('.result-window').getByText('"DONE"').waitFor();
    await page.locator('.graphiql-execute-button').click();
  });

  it('describes the graph, and the documentation can be browsed', async () => {
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    const docs = page.locator('.graphiql-doc-explorer');
    await docs.getByText('Query').first().waitFor();
    await docs.getByText('One graph over a link-management API').waitFor();
  });

  it('asked no other host, and the page had no complaint', () => {
    expect(opened.elsewhere).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});
