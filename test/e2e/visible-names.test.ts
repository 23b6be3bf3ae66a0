import { SignJWT } from 'jose';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { openBrowser } from './browser.ts';

const secret = 'a-secret-of-more-than-32-letters';
/** Reads as `shop_admin` where it is not escaped. */
const NAME = 'shop_\u202Enimda\u2066';
const SHOWN = 'shop_\\u202enimda\\u2066';

describeWith(chromium, 'a caller whose name turns the text around', () => {
  let busy: BusyGateway;
  let browser: Browser;

  beforeAll(async () => {
    busy = await busyGateway({
      AUTH_MODE: 'jwt',
      AUTH_JWT_SECRET: secret,
      AUTH_JWT_ISSUER: 'https://login.example',
      AUTH_JWT_AUDIENCE: 'links-market-gateway',
    });
    browser = await openBrowser();
    const token = await new SignJWT({ roles: ['viewer'] })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('https://login.example')
      .setAudience('links-market-gateway')
      .setSubject(NAME)
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(secret));
    const headers = { authorization: `Bearer ${token}` };
    await busy.ask('query Named { account { username } }', { headers });
    await busy.ask('query Export { pixels { nodes { id } } }', { headers });
  });

  afterAll(async () => {
    await browser?.close();
  });

  it('is shown with escapes everywhere in the console', async () => {
    const page = await browser.newPage();
    await page.goto(`${busy.url}/console`);
    await page.getByText(SHOWN).first().waitFor();
    await page.locator('.upstream .slot').first().hover();
    const all = await page.content();
    expect(all.split(SHOWN).length).toBeGreaterThan(2);
    expect(all).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
  });
});
