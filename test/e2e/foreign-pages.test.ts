import { once } from 'node:events';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { openBrowser } from './browser.ts';

const QUERY = '/graphql?query={account{username}}';
const LIVE = '/graphql?query=query%20@live{plans{name}}';

describeWith(chromium, 'a page over plain HTTP, in a browser that knows no secure origin', () => {
  let browser: Browser;
  let busy: BusyGateway;
  let page: Page;
  let site: Server;
  /** The gateway by a name that browsers do not take for this machine. */
  let gateway: string;
  /** What each request to the gateway had of the headers that say who sent it. */
  const marks: Record<string, string | undefined>[] = [];

  beforeAll(async () => {
    browser = await openBrowser(['--host-resolver-rules=MAP *.example 127.0.0.1']);
    // A page, with the gateway behind a proxy beside it.
    site = createServer(({ headers, method, url: path = '' }, response) => {
      if (path.startsWith('/graphql')) {
        const { port } = new URL(busy.url);
        forward({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 0, answer.headers);
          answer.pipe(response);
        }).end();
        return;
      }
      response.setHeader('Content-Type', 'text/html');
      response.end('<!doctype html><title>A page</title>');
    });
    await once(site.listen(0, '127.0.0.1'), 'listening');
  });

  afterAll(async () => {
    await browser?.close();
    site?.close();
  });

  afterEach(async () => {
    await page?.close();
    marks.length = 0;
  });

  const pageAt = (host: string): string =>
    `http://${host}:${(site.address() as AddressInfo).port}/`;

  async function note(sent: Request): Promise<void> {
    // A page may be closed before the browser has said what it sent last: that is not looked at.
    const headers = await sent.allHeaders().catch(() => null);
    if (!headers) return;
    const { origin, referer, 'sec-fetch-site': mark } = headers;
    marks.push({ origin, referer, site: mark });
  }

  /** Opens a page, and a gateway for it. */
  async function open(address: string, env: Record<string, string> = {}): Promise<void> {
    busy = await busyGateway({ HOST: '0.0.0.0', ...env });
    gateway = `http://gateway.example:${new URL(busy.url).port}`;
    page = await browser.newPage();
    page.on('request', (request) => {
      if (!request.url().includes('/graphql')) return;
      void note(request);
    });
    await page.goto(address);
  }

  /** Everything by which a page makes a browser ask another server, each to its end. */
  async function askInEveryWay(referrerPolicy: ReferrerPolicy): Promise<void> {
    await page.evaluate(
      async ([query, live, policy]) => {
        const ended = (element: HTMLElement): Promise<unknown> =>
          new Promise((resolve) => {
            element.addEventListener('load', resolve);
            element.addEventListener('error', resolve);
            document.body.append(element);
          });
        const meta = document.createElement('meta');
        Object.assign(meta, { name: 'referrer', content: policy });
        document.head.append(meta);
        const none = (): void => {};
        await fetch(query, { referrerPolicy: policy }).catch(none);
        await fetch(query, { referrerPolicy: policy, mode: 'no-cors' }).catch(none);
        const json = { method: 'POST', body: '{"query":"{account{username}}"}' };
        await fetch(query, { ...json, mode: 'no-cors' }).catch(none);
        const headers = { 'content-type': 'application/json' };
        await fetch(query, { ...json, headers }).catch(none);
        navigator.sendBeacon(query, json.body);
        const stream = new EventSource(live);
        await new Promise((resolve) => {
          stream.addEventListener('error', resolve);
          stream.addEventListener('next', resolve);
        });
        stream.close();
        await ended(Object.assign(new Image(), { src: query, referrerPolicy: policy }));
        await ended(Object.assign(document.createElement('script'), { src: query }));
        await ended(Object.assign(document.createElement('iframe'), { src: query }));
        await ended(Object.assign(document.createElement('iframe'), { src: live }));
      },
      [gateway + QUERY, gateway + LIVE, referrerPolicy] as const,
    );
  }

  const answerOf = (address: string): Promise<string> =>
    page.evaluate(async (url) => (await fetch(url)).text(), address);

  const firstEvent = (address: string): Promise<string> =>
    page.evaluate(
      (url) =>
        new Promise<string>((resolve) => {
          const stream = new EventSource(url);
          stream.addEventListener('next', ({ data }) => resolve(String(data)));
          stream.addEventListener('error', () => resolve('an error'));
        }),
      address,
    );

  it.each(['no-referrer', 'unsafe-url', 'strict-origin-when-cross-origin'] as const)(
    'spends nothing where it is not listed, with the policy %s',
    async (policy) => {
      await open(pageAt('evil.example'));
      await askInEveryWay(policy);
      expect(busy.sandbox.links.requests).toEqual([]);
      // It is as this test takes it to be: none is marked.
      expect(marks.length).toBeGreaterThan(5);
      expect(marks.filter(({ site }) => site !== undefined)).toEqual([]);
    },
  );

  it('gets its answers where it is listed', async () => {
    await open(pageAt('app.example'), { CORS_ORIGINS: new URL(pageAt('app.example')).origin });
    expect(await answerOf(gateway + QUERY)).toContain('"username"');
    expect(await firstEvent(gateway + LIVE)).toContain('"plans"');
  });

  it('gets its answers where it is of the gateway’s own host', async () => {
    await open(pageAt('own.example'));
    marks.length = 0;
    expect(await answerOf(QUERY)).toContain('"username"');
    expect(await firstEvent(LIVE)).toContain('"plans"');
    // It is as this test takes it to be: only the page's address shows whose they are.
    const referer = pageAt('own.example');
    expect(marks).toEqual([{ referer }, { referer }]);
  });
});
