import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inBackground } from '../../scheduling/at-once.ts';
import type { Codings } from '../encoding/codings.ts';
import {
  type Content,
  isReading,
  type PlainAnswer,
  respond,
  sharedContent,
  textAnswer,
} from '../respond.ts';
import { inPieces, SharedFile } from './shared-file.ts';

/** Serves a page or a part of one, by GET or HEAD. Never rejects. */
type PageAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** What `npm run build` makes for browsers, beside the server: pages, which send no request to other hosts. */
export interface BuiltPages {
  /** The package for frontends, as npm installs it; a 503 until it is built. */
  readonly clientPackage: () => PlainAnswer;
  /** Serves `/assets/...`. A name identifies the content, so a browser may store it without a time limit. */
  readonly asset: PageAnswer;
  /** Serves the page of a name. `policy` extends the common policy. */
  document(name: string, policy?: readonly string[]): PageAnswer;
}

/** The permissions of a page: its own scripts and styles, its own images, and requests to this gateway. */
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

/** Reads the build when a page is first requested: a start without a browser costs nothing. */
export function createBuiltPages(codings: Codings, folder = folderOfPages()): BuiltPages {
  let files: ReadonlyMap<string, SharedFile> | undefined;
  const assets = (): ReadonlyMap<string, SharedFile> => {
    files ??= assetsIn(join(folder, 'assets'));
    return files;
  };
  const clientPackage = remade(join(folder, '..', 'client', 'client.tgz'), (path): PlainAnswer => {
    const body = readFileSync(path);
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    return { status: 200, content: { type: 'application/gzip', body, etag } };
  });
  const asset: PageAnswer = (request, response) => {
    if (!isReading(request, response)) return;
    const name = (request.url ?? '').replace(/^.*\/|\?.*$/g, '');
    const file = assetFor(name, assets(), (available) => codings.packed(request, available));
    if (!file) {
      respond(response, missingAsset);
      return;
    }
    const { bytes, ...kind } = file;
    inBackground(
      bytes.bytesFor(response).then(
        (body) => respond(response, { ...assetAnswer, content: { ...kind, body } }, inPieces),
        () => respond(response, missingAsset),
      ),
    );
  };
  return {
    clientPackage: () => clientPackage() ?? notBuilt,
    asset,
    document(name, policy = ["style-src 'self'"]) {
      const path = join(folder, `${name}.html`);
      const headers = { 'Content-Security-Policy': [...POLICY, ...policy].join('; ') };
      const page = remade(path, () => {
        // Another build, which has assets of other names.
        files = undefined;
        return sharedContent('text/html; charset=utf-8', readFileSync(path, 'utf8'));
      });
      return (request, response) => {
        if (!isReading(request, response)) return;
        const content = page();
        respond(response, content ? { ...documentAnswer, headers, content } : notBuilt);
      };
    },
  };
}

/** A name says what is in an asset. */
const assetAnswer = {
  status: 200,
  cacheControl: 'public, max-age=31536000, immutable',
  vary: 'Accept-Encoding',
};
const documentAnswer = { status: 200, cacheControl: 'no-cache', vary: 'Accept' };
/** `npm start` builds the pages while the server is already running. The browser reloads automatically. */
const notBuilt = {
  ...textAnswer(
    503,
    'This is being built and will load when the build is complete. If it does not load, run: npm run build',
  ),
  headers: { 'Retry-After': '1', Refresh: '1' },
};
const missingAsset = textAnswer(404, 'This asset does not exist. Reload the page.');

/** The folder of the built pages, relative to this file in the sources, or to the bundle that contains it. */
function folderOfPages(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) {
    folder = dirname(folder);
  }
  return join(folder, 'dist', 'pages');
}

/** By requested name, with `.br` or `.gz` for compressed forms. */
function assetsIn(folder: string): Map<string, SharedFile> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(names.map((name) => [name, new SharedFile(join(folder, name))]));
}

/** The file of an asset in the smallest form that a request accepts; `null` if there is none. */
function assetFor(
  name: string,
  assets: ReadonlyMap<string, SharedFile>,
  choose: (available: readonly Packing[]) => Packing | null,
): (Omit<Content, 'body'> & { readonly bytes: SharedFile }) | null {
  const type = types[extname(name)];
  const plain = assets.get(name);
  if (!type || !plain) return null;
  const available = packings.filter((each) => assets.has(name + suffixes[each]));
  const encoding = choose(available);
  const packed = encoding && assets.get(name + suffixes[encoding]);
  return encoding && packed ? { type, encoding, bytes: packed } : { type, bytes: plain };
}

/** How the build packs files, the smallest first. */
const packings = ['br', 'gzip'] as const;
type Packing = (typeof packings)[number];
const suffixes: Readonly<Record<Packing, string>> = { br: '.br', gzip: '.gz' };

/** What is made of a file: once, and again when that was replaced; `undefined` while there is none. */
function remade<T>(path: string, make: (path: string) => T): () => T | undefined {
  let made: { readonly of: number; readonly value: T } | undefined;
  return () => {
    const of = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (made?.of !== of) made = of === undefined ? undefined : { of, value: make(path) };
    return made?.value;
  };
}
