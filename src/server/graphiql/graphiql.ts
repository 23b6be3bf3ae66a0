import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gunzip, gzip } from 'node:zlib';
import type { LoopTurns } from '../socket/loop-turns.ts';
import type { Example } from './examples.ts';

/** GraphiQL in one page that needs no other host. */
export interface GraphiqlPage {
  /** Answers GET and HEAD, with 304 when the browser has the page already. Never rejects. */
  send(request: IncomingMessage, response: ServerResponse): void;
}

interface Rendered {
  readonly gzipped: Buffer;
  /** The same unpacked, while somebody reads it who cannot unpack. */
  plain: Promise<Buffer> | null;
  plainReaders: number;
  readonly etag: string;
  readonly csp: string;
}

/**
 * Renders the page when it is first asked for, and once: loading and packing its nine megabytes takes
 * most of a second, which a start without a browser should not pay. `examples` are the tabs
 * of a first visit; later ones open on what the browser remembers.
 *
 * The examples go into an inline script unescaped, so they must be constants and never request data.
 */
export function createGraphiqlPage(examples: readonly Example[], turns: LoopTurns): GraphiqlPage {
  let page: Promise<Rendered> | undefined;
  return {
    send(request, response) {
      page ??= render(examples);
      page.then(
        (rendered) => answer(rendered, request, response, turns),
        () => {
          page = undefined;
          response.writeHead(500, { 'Content-Type': 'text/plain' });
          response.end('GraphiQL cannot be shown.\n');
        },
      );
    },
  };
}

async function render(examples: readonly Example[]): Promise<Rendered> {
  const options = {
    title: 'Links and market',
    defaultTabs: examples.map(({ query, variables }) => ({
      query,
      variables: variables ? JSON.stringify(variables, null, 2) : null,
    })),
    // Live queries would be sent by GET otherwise, with all of their text in the address.
    method: 'POST' as const,
    // Headers carry credentials, and local storage is no place for them.
    shouldPersistHeaders: false,
  };
  const { bytes, etag, script } = await renderApart(options);
  return {
    // Every browser takes gzip, so only the packed page stays in memory.
    gzipped: await promisify(gzip)(bytes),
    plain: null,
    plainReaders: 0,
    etag: `W/"${etag}"`,
    csp: policy(script),
  };
}

/** The page, and the digests that its tag and its policy are made of. */
interface Page {
  readonly bytes: Uint8Array;
  readonly etag: string;
  /** Of its only script, in base64. */
  readonly script: string;
}

/**
 * On a first visit with several tabs, GraphiQL's drag library believes the tabs to be elsewhere and moves one
 * away from under the pointer as soon as it is pressed, so that the click is lost. Tabs that never
 * move can be clicked, and still be reordered by dragging.
 */
const STILL_TABS = '.graphiql-tab{transform:none!important}';

/** What the thread runs: it has no file of its own, so that it is the same before and after the build. */
const renderer = `
const { createHash } = require('node:crypto');
const { parentPort, workerData } = require('node:worker_threads');
const { library, options, style } = workerData;
import(library).then(({ renderGraphiQL }) => {
  const html = renderGraphiQL(options).replace('</style>', style + '</style>');
  const start = html.indexOf('<script>', html.indexOf('<div id="root">')) + '<script>'.length;
  const sha256 = (text, encoding) => createHash('sha256').update(text).digest(encoding);
  const bytes = new TextEncoder().encode(html);
  const page = {
    bytes,
    etag: sha256(bytes, 'base64url').slice(0, 22),
    script: sha256(html.slice(start, html.lastIndexOf('</script>')), 'base64'),
  };
  parentPort.postMessage(page, [bytes.buffer]);
});
`;

/** Renders in a thread of its own: to load the library alone would hold all requests for long. */
function renderApart(options: object): Promise<Page> {
  // The build puts the library into a file of its own, and the address of that file here.
  const library = import.meta.resolve('@graphql-yoga/render-graphiql');
  const workerData = { library, options, style: STILL_TABS };
  const worker = new Worker(renderer, { eval: true, workerData });
  return new Promise((resolve, reject) => {
    worker.once('message', (page: Page) => {
      resolve(page);
      void worker.terminate();
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread ended without a page')));
  });
}

/** Names the page's only script by its digest: an injected one would not run. */
function policy(script: string): string {
  return [
    "default-src 'none'",
    `script-src 'sha256-${script}'`,
    // The editor starts its language services from blobs and styles itself from scripts.
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function answer(
  page: Rendered,
  request: IncomingMessage,
  response: ServerResponse,
  turns: LoopTurns,
): void {
  response.setHeader('ETag', page.etag);
  response.setHeader('Cache-Control', 'no-cache');
  response.appendHeader('Vary', 'Accept, Accept-Encoding');
  if (request.headers['if-none-match']?.includes(page.etag)) {
    response.writeHead(304).end();
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', page.csp);
  response.setHeader('Referrer-Policy', 'no-referrer');
  if (request.method === 'HEAD') {
    response.end();
  } else if (/\bgzip\b/.test(String(request.headers['accept-encoding']))) {
    response.setHeader('Content-Encoding', 'gzip');
    stream(page.gzipped, response, turns);
  } else {
    readPlain(page, response, (plain) => stream(plain, response, turns));
  }
}

/** Unpacks the page for all who read it at a time, and forgets it with the last of them. */
function readPlain(page: Rendered, response: ServerResponse, read: (plain: Buffer) => void): void {
  page.plain ??= promisify(gunzip)(page.gzipped);
  page.plainReaders += 1;
  response.once('close', () => {
    page.plainReaders -= 1;
    if (page.plainReaders === 0) page.plain = null;
  });
  void page.plain.then(read);
}

const PIECE_BYTES = 64 * 1024;

/**
 * Sends a buffer that all readers share, in pieces and no faster than each of them reads. A piece is a view,
 * so that a reader who does not read holds no memory of ours. Many readers share the turns of the event loop,
 * since the system takes megabytes at once of each.
 */
function stream(page: Buffer, response: ServerResponse, turns: LoopTurns): void {
  response.setHeader('Content-Length', page.byteLength);
  let start = 0;
  const next = (): void => {
    if (response.destroyed) return;
    const piece = page.subarray(start, start + PIECE_BYTES);
    start += piece.byteLength;
    if (start >= page.byteLength) response.end(piece);
    else if (response.write(piece)) later();
    // Which can be in this very turn.
    else response.once('drain', later);
  };
  const later = (): void => turns.run(next);
  later();
}
