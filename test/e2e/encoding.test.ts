import { once } from 'node:events';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { askRaw } from '../support/raw-reply.ts';
import { openBrowser } from './browser.ts';

const CHANNELS = `{ account { username } channels(first: 8) { nodes {
  id name items(first: 5) { totalCount nodes { ... on ChannelEntry { title link } } } } } }`;
const LIVE = '/graphql?query=query%20@live{channels(first:8){nodes{name}}plans{name}}';
const still = (text: string): string => text.replace(/\d+/g, 'N');

describeWith(chromium, 'a browser, which decodes every coding that it names', () => {
  let browser: Browser;
  let door: Door;
  let page: Page;
  let site: Server;
  /** What the browser said that it takes. */
  let named = '';

  beforeAll(async () => {
    const opened = openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
    [browser, door] = await Promise.all([openBrowser(), opened]);
    // A page with the gateway behind it, asked for one coding at a time: pages cannot choose that themselves.
    site = createServer((request, response) => {
      const [, coding = '', path = ''] = /^\/([\w,]+)(\/.*)$/.exec(request.url ?? '') ?? [];
      if (path === '') {
        response.setHeader('Content-Type', 'text/html');
        response.end('<!doctype html><title>A page</title>');
        return;
      }
      named = String(request.headers['accept-encoding']);
      const { port } = new URL(door.url);
      const headers = { ...request.headers, 'accept-encoding': coding };
      const { method } = request;
      const asked = forward({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      request.pipe(asked);
      response.on('close', () => asked.destroy());
    });
    await once(site.listen(0, '127.0.0.1'), 'listening');
    page = await browser.newPage();
    await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
  });

  afterAll(async () => {
    await browser?.close();
    site?.close();
    await door?.close();
  });

  const plain = (path: string, body?: string) =>
    askRaw(door.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      ...(body !== undefined && { body }),
    });

  it.each(['br', 'gzip'])('reads the same bytes in %s, from memory and not', async (coding) => {
    const body = JSON.stringify({ query: CHANNELS });
    for (const [path, sent] of [
      ['/graphql', body],
      ['/schema.graphql', undefined],
    ] as const) {
      const { text } = await plain(path, sent);
      for (let n = 0; n < 5; n += 1) {
        const read = await page.evaluate(
          async ([address, json]) => {
            const response = await fetch(address, {
              method: json === null ? 'GET' : 'POST',
              cache: 'no-store',
              headers: { 'content-type': 'application/json', accept: 'application/json' },
              body: json,
            });
            return {
              text: await response.text(),
              coding: response.headers.get('content-encoding'),
            };
          },
          [`/${coding}${path}`, sent ?? null] as const,
        );
        expect(named).toContain(coding);
        expect(read.coding).toBe(coding);
        expect(still(read.text)).toBe(still(text));
      }
    }
  });

  it('gets an event in gzip as soon as it is there', async () => {
    const first = await page.evaluate(
      (address) =>
        new Promise<string>((resolve, reject) => {
          const source = new EventSource(address);
          // Nothing follows on it, by which a decoder that waits would be given more.
          source.addEventListener('next', ({ data }) => {
            source.close();
            resolve(String(data));
          });
          source.addEventListener('error', () => reject(new Error('The stream has failed.')));
        }),
      `/br,gzip${LIVE}`,
    );
    expect(JSON.parse(first).data.plans.length).toBeGreaterThan(0);
  });
});
