import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { asTimePasses } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { findingsOf } from './axe.ts';
import { openBrowser } from './browser.ts';

const sizes = [
  [1280, 800],
  [390, 844],
] as const;
const views = sizes.flatMap(([width, height]) =>
  (['light', 'dark'] as const).map((scheme) => [width, height, scheme] as const),
);

describeWith(chromium, 'the console after lost responses of writes', () => {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(tmpdir(), 'console-writes-'));
  let busy: BusyGateway;
  let browser: Browser;

  /** Creates a channel for a caller who waits this long, in seconds. */
  const create = (name: string, key: string | null, wait = 0) => {
    const mutation = `mutation Save { createChannel(input: { name: "${name}" }) { __typename } }`;
    const headers = {
      authorization: 'Bearer shop',
      prefer: `wait=${wait}`,
      'x-request-id': `call-for-${name}`,
      ...(key === null ? {} : { 'idempotency-key': `"${key}"` }),
    };
    const asked = busy.ask(mutation, { headers });
    return wait === 0 ? asked : asTimePasses(clock, asked);
  };
  const lose = () =>
    busy.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });

  /** One write is executed and replayed, two are unknown and found by a retry, two are still unknown. */
  async function trouble(): Promise<void> {
    // Channels have no date: a new one is recognized by the rows that were known before.
    const headers = { authorization: 'Bearer shop' };
    await busy.ask('{ channels(first: 500) { nodes { id } } }', { headers });
    await create('Usual', 'usual');
    await create('Usual', 'usual');
    for (const name of ['First', 'Second']) {
      lose();
      await create(name, name);
      await clock.advance(6000);
      await create(name, name, 60);
    }
    lose();
    await create('Unprotected', null);
    lose();
    await create('Waiting', 'waiting');
  }

  beforeAll(async () => {
    const tokens = join(folder, 'tokens.json');
    const shop = { name: 'shop', role: 'editor', sha256: hash('sha256', 'shop') } as const;
    writeFileSync(tokens, formatTokenFile([shop]));
    const env = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: tokens, MAX_WAIT_MS: '120000' };
    busy = await busyGateway(env, { clock });
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await busy?.close();
    rmSync(folder, { recursive: true });
  });

  it('shows nothing of writes before there was any', async () => {
    const page = await browser.newPage();
    await page.goto(`${busy.url}/console`);
    await page.locator('.upstream').first().waitFor();
    expect(await page.locator('#unknown').isVisible()).toBe(false);
    expect(await page.locator('.upstream .writes').first().isVisible()).toBe(false);
    await page.close();
    await trouble();
  });

  describe.each(views)('in %i by %i pixels, %s', (width, height, colorScheme) => {
    let page: Page;
    beforeAll(async () => {
      page = await browser.newPage({ colorScheme, viewport: { width, height } });
      await page.goto(`${busy.url}/console`);
      await page.locator('#unknown tbody tr').first().waitFor();
    });
    afterAll(() => page.close());

    it('counts writes by their end on the card of the API, and on no other', async () => {
      const writes = page.locator('.upstream .writes');
      expect(await writes.first().textContent()).toBe(
        'Writes with keys, last hour: 1 executed, 1 replayed, 2 reconciled, 3 unknown. Keys now: 1 ambiguous. Lost responses without a key: 1 unknown.',
      );
      expect(await writes.last().isVisible()).toBe(false);
    });

    it('lists unknown outcomes with what a person asks about, and what to do', async () => {
      const rows = await page.locator('#unknown tbody tr').allInnerTexts();
      const cells = rows.map((row) => row.split(/\s*\t\s*/).slice(1, 5));
      expect(cells.map(([mutation, , caller]) => [mutation, caller])).toEqual([
        ['createChannel', 'shop'],
        [expect.stringMatching(/channel/), 'shop'],
        ['createChannel', 'shop'],
        ['createChannel', 'shop'],
      ]);
      expect(cells.map((row) => row[3])).toEqual([
        'call-for-Waiting',
        'call-for-Unprotected',
        'call-for-Second',
        'call-for-First',
      ]);
      const states = cells.map((row) => row[1]);
      expect(states[0]).toMatch(/^unknown: retry (in \d s|with the same key)$/);
      expect(states[1]).toBe('unknown: check the data');
      expect(states[2]).toMatch(/^found by a retry at \d/);
      expect(states[3]).toMatch(/^found by a retry at \d/);
    });

    it('reports in the events what was done', async () => {
      const events = await page.locator('#events tbody tr').allInnerTexts();
      const text = events.join('\n').replace(/\s+/g, ' ');
      expect(text).toContain('reconciled Reconciled createChannel: found after a lost response ×2');
      expect(text).toContain('unknown Outcome unknown: createChannel ×3');
    });

    it('has no finding of axe', async () => {
      expect(await findingsOf(page)).toEqual([]);
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(beyond).toBe(0);
    });
  });

  it('finds a call by its request id', async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${busy.url}/console`);
    await page.getByLabel('Search events').fill('call-for-Second');
    await page.locator('#events').getByText('Outcome unknown: createChannel').waitFor();
    await page.close();
  });
});
