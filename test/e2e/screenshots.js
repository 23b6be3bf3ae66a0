// Takes pictures of what people look at, as it really is: the console under load, GraphiQL, and the dashboard, each in
// light and dark, at a desk and on a phone. `npm run screenshots -- folder`; about four minutes, most of them for the charts.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const folder = process.argv[2] ?? 'docs/images';
mkdirSync(folder, { recursive: true });

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
/** @type {import('node:child_process').ChildProcess[]} */
const children = [];

try {
  const gateway = await begin(['dist/main.js'], /^GraphQL +(\S+)\/graphql/m, { PORT: '0' });
  await inEveryView('graphiql', (page) => showGraphiql(page, gateway));
  const load = loadOf(gateway);
  await sleep(150_000);
  await inEveryView('console', (page) => showConsole(page, gateway));
  load.stop();
  await begin(['scripts/demo.js'], /^dashboard +(\S+)/m, { PORT: '4400', DASHBOARD_PORT: '4401' });
  await inEveryView('dashboard', (page) => showDashboard(page, 'http://localhost:4401'));
} finally {
  await browser.close();
  for (const child of children) child.kill();
}

/** @param {import('playwright-core').Page} page */
async function showGraphiql(page, /** @type {string} */ url) {
  await page.goto(`${url}/graphql`);
  await page.waitForFunction(() => performance.getEntriesByName('editors').length > 0);
  await page.locator('.graphiql-execute-button').click();
  await page.locator('.facts .fact').first().waitFor();
  // The price of the next time is shown a moment later.
  await page.getByText(/would cost/).waitFor();
  // The editors colour names last.
  await sleep(1500);
}

/** @param {import('playwright-core').Page} page */
async function showConsole(page, /** @type {string} */ url) {
  await page.goto(`${url}/console`);
  await page.locator('.slot:not(.free)').first().waitFor();
  await sleep(1500);
}

/** @param {import('playwright-core').Page} page */
async function showDashboard(page, /** @type {string} */ url) {
  await page.goto(url);
  await page.getByRole('button', { name: /^Archive/ }).waitFor();
  // Statistics, pictures and items come after the codes, and the meter with its next update.
  await page.waitForFunction(
    () =>
      document.querySelector('.skeleton, .pulse') === null &&
      [...document.querySelectorAll('.picture img')]
        .filter((image) => image.checkVisibility())
        .slice(0, 4)
        .every((image) => image instanceof HTMLImageElement && image.naturalWidth > 0),
  );
  await sleep(3000);
}

/**
 * @param {string} name
 * @param {(page: import('playwright-core').Page) => Promise<void>} show
 */
async function inEveryView(name, show) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [width, height] of /** @type {const} */ ([
      [1280, 860],
      [390, 844],
    ])) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height } });
      await show(page);
      const path = join(folder, `${name}-${colorScheme}-${width}.png`);
      await page.screenshot({ path });
      process.stdout.write(`${path}\n`);
      await page.close();
    }
  }
}

/**
 * What a gateway is asked by several pages at once, and more than its budget has.
 *
 * @param {string} url
 */
function loadOf(url) {
  const operations = [
    'query Dashboard { account { username } channels(first: 10) { nodes { name items(first: 5) { nodes { ... on ChannelEntry { title } } } } } }',
    'query Storefront { seller { balance } items(first: 8) { nodes { name } } }',
    'query QrStatistics { qrCodes(first: 6) { nodes { name statistics { clicks } } } }',
    'query Campaigns { campaigns(first: 10) { totalCount nodes { name } } }',
    'query Team { users(first: 5) { nodes { email } } plans { name } }',
    'mutation NewPixel { createPixel(input: { type: GA, name: "Shop", tag: "G-4R7W2K9QXN" }) { __typename } }',
    'mutation NewCampaign { createCampaign(input: { name: "Winter sale" }) { __typename } }',
  ];
  let n = 0;
  const timer = setInterval(() => {
    const query = operations[n % operations.length];
    n += 1;
    const body = JSON.stringify({ query });
    const headers = { 'content-type': 'application/json' };
    fetch(`${url}/graphql`, { method: 'POST', headers, body }).then(
      (answer) => answer.text(),
      () => {},
    );
  }, 900);
  return { stop: () => clearInterval(timer) };
}

/**
 * Starts a program, and resolves with what it says to `pattern`.
 *
 * @param {string[]} args
 * @param {RegExp} pattern
 * @param {Record<string, string>} env
 * @returns {Promise<string>}
 */
function begin(args, pattern, env) {
  const stdio = /** @type {const} */ (['ignore', 'pipe', 'inherit']);
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio });
  children.push(child);
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      const [, found] = pattern.exec(said) ?? [];
      if (found) resolve(found);
    });
    child.once('close', () => reject(new Error(`${args[0]} ended:\n${said}`)));
  });
}
