import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gunzip, gzip } from 'node:zlib';
import type { Example } from './examples.ts';

/** GraphiQL in one page that needs no other host. */
export interface GraphiqlPage {
  /** Answers GET and HEAD, with 304 when the browser has the page already. Never rejects. */
  send(request: IncomingMessage, response: ServerResponse): void;
}

interface Rendered {
  readonly gzipped: Buffer;
  /** The same unpacked, once somebody has asked for it who cannot unpack. */
  plain: Promise<Buffer> | null;
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
export function createGraphiqlPage(examples: readonly Example[]): GraphiqlPage {
  let page: Promise<Rendered> | undefined;
  return {
    send(request, response) {
      page ??= render(examples);
      page.then(
        (rendered) => answer(rendered, request, response),
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
    // Headers carry credentials, and local storage is no place for them.
    shouldPersistHeaders: false,
  };
  const html = fixTabs(await renderApart(options));
  return {
    gzipped: await promisify(gzip)(html),
    // Every browser takes gzip, so only the packed page stays in memory from the start.
    plain: null,
    etag: `W/"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`,
    csp: policy(html),
  };
}

/** What the thread runs: it has no file of its own, so that it is the same before and after the build. */
const renderer = `const { parentPort, workerData } = require('node:worker_threads');
parentPort.postMessage(require(workerData.library).renderGraphiQL(workerData.options));`;

/** Renders in a thread of its own: to load the library alone would hold all requests for long. */
function renderApart(options: object): Promise<string> {
  const require = createRequire(import.meta.url);
  const library = require.resolve('@graphql-yoga/render-graphiql');
  const worker = new Worker(renderer, { eval: true, workerData: { library, options } });
  return new Promise((resolve, reject) => {
    worker.once('message', (html: string) => {
      resolve(html);
      void worker.terminate();
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread ended without a page')));
  });
}

/**
 * On a first visit with several tabs, GraphiQL's drag library believes the tabs to be elsewhere and moves one
 * away from under the pointer as soon as it is pressed, so that the click is lost. Tabs that never
 * move can be clicked, and still be reordered by dragging.
 */
function fixTabs(html: string): string {
  return html.replace('</style>', '.graphiql-tab{transform:none!important}</style>');
}

/** Names the page's only script by its hash: an injected one would not run. */
function policy(html: string): string {
  const start = html.indexOf('<script>', html.indexOf('<div id="root">')) + '<script>'.length;
  const script = html.slice(start, html.lastIndexOf('</script>'));
  const hash = createHash('sha256').update(script).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
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

function answer(page: Rendered, request: IncomingMessage, response: ServerResponse): void {
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
    stream(page.gzipped, response);
  } else {
    page.plain ??= promisify(gunzip)(page.gzipped);
    void page.plain.then((plain) => stream(plain, response));
  }
}

const PIECE_BYTES = 64 * 1024;

/**
 * Sends a buffer that all readers share, in pieces and no faster than each of them reads. A piece is a view,
 * so that a reader who does not read holds no memory of ours; and between two pieces others have their turn,
 * since the system takes megabytes at once.
 */
function stream(page: Buffer, response: ServerResponse): void {
  response.setHeader('Content-Length', page.byteLength);
  let start = 0;
  const next = (): void => {
    if (response.destroyed) return;
    const piece = page.subarray(start, start + PIECE_BYTES);
    start += piece.byteLength;
    if (start >= page.byteLength) response.end(piece);
    else if (response.write(piece)) setImmediate(next);
    else response.once('drain', next);
  };
  next();
}
