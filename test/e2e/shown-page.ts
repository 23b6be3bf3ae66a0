import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import type { PageExample } from '../support/readme.ts';
import { WRITTEN_URL } from '../support/run-example.ts';
import { openBrowser } from './browser.ts';

/** A web server for one HTML example: an origin of its own, as a frontend's is. */
export async function servePage(html: () => string): Promise<{ origin: string; server: Server }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, server };
}

/** An HTML example as a reader has it, asking the gateway at `url`. */
export function pageFor({ text }: PageExample, url: string): string {
  return text.replaceAll(WRITTEN_URL, url);
}

/** Opens an address in a browser and resolves once it shows this text, and nothing was complained of. */
export async function expectToShow(address: string, text: string): Promise<void> {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('pageerror', ({ message }) => complaints.push(message));
    await page.goto(address);
    const words = async () => (await page.locator('body').innerText()).split(/\s*\n\s*/).join('\n');
    await expect.poll(words).toBe(text.trim());
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
}
