import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createGateway, type Gateway } from '../../../src/gateway.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configOf } from '../../support/config.ts';
import { tokenFile } from '../../support/folder.ts';
import { chromium, describeWith } from '../../support/needs.ts';
import { openBrowser } from '../browser.ts';
import { editorsOf, openPage, run, write } from './open-page.ts';

const TOKEN = 'the-token-of-somebody';
const file = tokenFile({ name: 'web', role: 'editor', token: TOKEN });

describeWith(chromium, 'GraphiQL of a gateway', () => {
  let browser: Browser;
  let gateway: Gateway | undefined;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterEach(() => gateway?.close());
  afterAll(() => browser?.close());

  async function open(settings: Record<string, string>) {
    gateway = await createGateway(configOf({ PORT: '0', ...settings }));
    const { url } = await gateway.listen();
    const { page } = await openPage(browser, url);
    await editorsOf(page);
    return page;
  }

  it('that wants a token asks for it with the reason, and keeps it for this tab only', async () => {
    const page = await open({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    const reason = page.locator('.reason');
    await reason.getByText('This gateway requires a token:').waitFor();
    expect(await page.locator('.result-window').textContent()).not.toContain('schema');
    await page.getByLabel('Token', { exact: true }).fill('a-wrong-one');
    await page.getByRole('button', { name: 'Use token' }).click();
    await reason.getByText('The gateway rejected this token:').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(TOKEN);
    await page.getByRole('button', { name: 'Use token' }).click();
    await reason.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.locator('.graphiql-doc-explorer').getByText('Query').first().waitFor();
    await page.locator('#cost').getByText('12 upstream requests').waitFor();
    await run(page);
    await page.locator('.facts').getByText('12 upstream requests').waitFor();
    const kept = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), location.href]),
    );
    expect(kept).not.toContain(TOKEN);
    await page.reload();
    await editorsOf(page);
    await page.getByRole('button', { name: 'Token in use' }).click();
    await page.getByRole('button', { name: 'Remove token' }).click();
    await reason.getByText('This gateway requires a token:').waitFor();
    await page.context().close();
  });

  it('over a real upstream loads the schema with the token, and wants it before', async () => {
    const sandbox = await startSandbox();
    const page = await open({
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      STATE_DIR: 'off',
    });
    await page.locator('.reason').getByText('Send a token').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(TOKEN);
    await page.getByRole('button', { name: 'Use token' }).click();
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.locator('.graphiql-doc-explorer').getByText('Query').first().waitFor();
    expect(await page.locator('#notice').isHidden()).toBe(true);
    await page.context().close();
    await sandbox.close();
  });

  it('that does not publish its schema says so, and runs operations all the same', async () => {
    const page = await open({ INTROSPECTION: 'false' });
    await page.locator('#notice').getByText('You can run operations').waitFor();
    await run(page);
    await page.locator('.facts').getByText('12 upstream requests').waitFor();
    await page.context().close();
  });

  it('takes a file for a variable', async () => {
    const page = await open({ uploadInlineMaxBytes: '2000' });
    await write(
      page,
      `mutation Send($input: UploadFileInput!) {
        uploadFile(input: $input) { __typename ... on File { name } ... on Error { message } } }`,
    );
    const field = page.getByLabel('$input.file');
    const buffer = Buffer.from('one, two, three');
    await field.setInputFiles({ name: 'menu.csv', mimeType: 'text/csv', buffer });
    await page.locator('.file-name').getByText('menu.csv, 15 B').waitFor();
    await page.locator('#cost').getByText('about 2 upstream requests').waitFor();
    await run(page);
    await page.locator('.result-window').getByText('"menu').waitFor();
    const turning = { name: 'a\u202Efdp.exe', mimeType: 'text/csv', buffer };
    await field.setInputFiles(turning);
    await page.locator('.file-name').getByText('a\\u202efdp.exe, 15 B').waitFor();
    const choose = (bytes: number) =>
      field.setInputFiles({
        name: 'large.csv',
        mimeType: 'text/csv',
        buffer: Buffer.alloc(bytes, 'x'),
      });
    await choose(3000);
    await run(page);
    await page.locator('.result-window').getByText('must not be larger').waitFor();
    await choose(2_000_000);
    await run(page);
    await page.locator('.complaints').getByText('BAD_USER_INPUT').waitFor();
    await page.context().close();
  });
});
