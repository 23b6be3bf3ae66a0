import { type Browser, chromium as engine } from 'playwright-core';
import { chromium } from '../support/needs.ts';

export type { Browser };

/** Starts a browser without a window, that asks no server anything by itself; `flags` are its own. */
export function openBrowser(flags: readonly string[] = []): Promise<Browser> {
  return engine.launch({
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
}
