import { type Browser, chromium as engine } from 'playwright-core';
import { chromium } from './needs.ts';

/** Starts a browser without a window, that asks nobody anything by itself. */
export function openBrowser(): Promise<Browser> {
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
    ],
  });
}
