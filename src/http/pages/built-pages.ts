import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { etagOfText, holdsETag } from '../door/etag.ts';
import type { LoopTurns } from '../socket/loop-turns.ts';
import { SharedFile } from './shared-file.ts';

/** Answers a request for a page or a part of one, by GET or HEAD. Never rejects. */
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** The pages that `npm run build` makes for browsers: they ask no other host for anything. */
export interface BuiltPages {
  /** Answers `/assets/...`. A name says what is in it, so that a browser keeps it for good. */
  readonly asset: Answer;
  /**
   * Answers with the page of a name. `data` is put into it as JSON, for its script to read in
   * `<script type="application/json" id="data">`; `policy` is what it may do beyond what every page may.
   */
  document(name: string, options?: { data?: unknown; policy?: readonly string[] }): Answer;
}

/** What a page may do: its own scripts and styles, pictures of its own, and calls to this gateway. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.woff2': 'font/woff2',
};

/** Looks at the build when a page is first asked for: a start without a browser pays nothing. */
export function createBuiltPages(turns: LoopTurns, folder = folderOfPages()): BuiltPages {
  let files: ReadonlyMap<string, SharedFile> | undefined;
  const assets = (): ReadonlyMap<string, SharedFile> => {
    files ??= assetsIn(join(folder, 'assets'));
    return files;
  };
  return {
    asset: forReaders((request, response) => {
      const name = (request.url ?? '').replace(/^.*\/|\?.*$/g, '');
      sendAsset(name, assets(), request, response, turns);
    }),
    document(name, { data, policy = ["style-src 'self'"] } = {}) {
      const path = join(folder, `${name}.html`);
      let made: Document | undefined;
      return forReaders((request, response) => {
        const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
        if (made?.madeAt !== madeAt) {
          // Another build, which has assets of other names.
          files = undefined;
          made = madeAt === undefined ? undefined : readDocument(path, madeAt, data);
        }
        if (made) sendDocument(made, [...POLICY, ...policy].join('; '), request, response);
        else tell(response, 503, 'This page is not built yet: npm run build.\n');
      });
    },
  };
}

/** Where the build has put the pages, looked for from this file, in the sources, or from the bundle that it is in. */
function folderOfPages(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) {
    folder = dirname(folder);
  }
  return join(folder, 'dist', 'pages');
}

/** By name as it is asked for, with `.br` or `.gz` where it is packed. */
function assetsIn(folder: string): Map<string, SharedFile> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(names.map((name) => [name, new SharedFile(join(folder, name))]));
}

function sendAsset(
  name: string,
  assets: ReadonlyMap<string, SharedFile>,
  request: IncomingMessage,
  response: ServerResponse,
  turns: LoopTurns,
): void {
  const type = types[extname(name)];
  const plain = assets.get(name);
  if (!type || !plain) {
    tell(response, 404, 'There is no such asset. Load the page anew.\n');
    return;
  }
  const packing = packingFor(request, (each) => assets.has(name + suffixes[each]));
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
  response.setHeader('Content-Type', type);
  response.appendHeader('Vary', 'Accept-Encoding');
  if (packing) response.setHeader('Content-Encoding', packing);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const file = packing ? assets.get(name + suffixes[packing]) : plain;
  (file ?? plain).send(response, turns).catch(() => {
    response.removeHeader('Content-Encoding');
    tell(response, 404, 'There is no such asset any more. Load the page anew.\n');
  });
}

/** How a file can be packed, the smallest first. */
const suffixes = { br: '.br', gzip: '.gz' } as const;

function packingFor(
  request: IncomingMessage,
  has: (packing: keyof typeof suffixes) => boolean,
): keyof typeof suffixes | undefined {
  const accepted = (request.headers['accept-encoding'] ?? '').split(',');
  const takes = (packing: string): boolean =>
    accepted.some((each) => {
      const [name = '', ...terms] = each.split(';').map((word) => word.trim().toLowerCase());
      return name === packing && !terms.some((term) => /^q=0(\.0*)?$/.test(term));
    });
  return (['br', 'gzip'] as const).find((packing) => takes(packing) && has(packing));
}

interface Document {
  /** When it was built. */
  readonly madeAt: number;
  readonly text: string;
  readonly gzipped: Buffer;
  readonly etag: string;
}

function readDocument(path: string, madeAt: number, data: unknown): Document {
  // In a script nothing but its end has a meaning.
  const json = JSON.stringify(data ?? null).replaceAll('<', '\\u003c');
  const script = `<script type="application/json" id="data">${json}</script>`;
  const text = readFileSync(path, 'utf8').replace('</body>', () => `${script}</body>`);
  return { madeAt, text, gzipped: gzipSync(text), etag: etagOfText(text) };
}

function sendDocument(
  { etag, gzipped, text }: Document,
  policy: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.setHeader('ETag', etag);
  response.setHeader('Cache-Control', 'no-cache');
  response.appendHeader('Vary', 'Accept, Accept-Encoding');
  if (holdsETag(request.headers['if-none-match'] ?? null, etag)) {
    response.writeHead(304).end();
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', policy);
  const packing = packingFor(request, (each) => each === 'gzip');
  if (packing) response.setHeader('Content-Encoding', packing);
  response.end(request.method === 'HEAD' ? undefined : packing ? gzipped : text);
}

function forReaders(answer: Answer): Answer {
  return (request, response) => {
    if (request.method === 'GET' || request.method === 'HEAD') answer(request, response);
    else {
      response.setHeader('Allow', 'GET, HEAD');
      tell(response, 405, 'Only GET and HEAD are understood here.\n');
    }
  };
}

function tell(response: ServerResponse, status: number, sentence: string): void {
  response.setHeader('Cache-Control', 'no-store');
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(sentence);
}
