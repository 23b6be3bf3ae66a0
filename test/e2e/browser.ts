import { type Browser, chromium as engine } from 'playwright-core';
import { chromium } from '../support/needs.ts';

export type { Browser };

/** Less than a test may take, so that a failure says what was waited for. */
const PATIENCE_MS = 100_000;

/** Starts a browser without a window, that asks no server anything by itself; `flags` are its own. */
export async function openBrowser(flags: readonly string[] = []): Promise<Browser> {
  const browser = await engine.launch({
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
      ...flags,
    ],
  });
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS));
  return browser;
}
