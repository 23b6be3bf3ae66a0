import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'vite';
import { afterAll, describe, expect, it } from 'vitest';
// @ts-expect-error: a script has no types.
import { Bundled } from '../../scripts/notices/bundled.js';

interface Inventory {
  readonly [folder: string]: {
    readonly texts: readonly string[];
    readonly comments: readonly string[];
  };
}

const root = mkdtempSync(join(tmpdir(), 'bundled-'));
afterAll(() => rmSync(root, { recursive: true }));

function files(all: Record<string, string>): void {
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** What is bundled of a page with these modules. */
async function bundled(all: Record<string, string>): Promise<Inventory> {
  // Its helper is written into a page that loads more later.
  files(module('vite', ''));
  files({ 'page/page.html': '<script type="module" src="./page.js"></script>', ...all });
  const noted = new Bundled(root) as { plugin: { name: string }; describe(): string };
  await build({
    root: join(root, 'page'),
    configFile: false,
    logLevel: 'silent',
    plugins: [noted.plugin],
    worker: { format: 'es', plugins: () => [noted.plugin] },
    build: {
      write: false,
      assetsInlineLimit: 0,
      rolldownOptions: { input: join(root, 'page/page.html') },
    },
  });
  return JSON.parse(noted.describe()) as Inventory;
}

const module = (name: string, code: string): Record<string, string> => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, main: 'index.js', type: 'module' }),
  [`node_modules/${name}/index.js`]: code,
});

describe('what is noted as bundled', () => {
  it('is each package of which code, styles or a file are in a page or its workers, and no other', async () => {
    const inventory = await bundled({
      ...module('used', 'import "within"; export const used = () => document.title;'),
      'node_modules/used/node_modules/within/package.json': '{"name":"within","main":"index.js"}',
      'node_modules/used/node_modules/within/index.js': 'globalThis.within = 1;',
      ...module('@scope/later', 'globalThis.later = 1;'),
      ...module('shaken', 'export const unused = () => document.body;'),
      ...module('installed', 'globalThis.installed = 1;'),
      ...module('in-worker', 'postMessage(1);'),
      ...module('styles', ''),
      'node_modules/styles/all.css': '@font-face { font-family: a; src: url("./a.ttf") }',
      'node_modules/styles/a.ttf': 'a font',
      ...module('font', ''),
      'node_modules/font/b.ttf': 'another font',
      'page/worker.js': 'import "in-worker";',
      'page/own.css': '@font-face { font-family: b; src: url("../node_modules/font/b.ttf") }',
      'page/page.js': `
        import { used } from 'used';
        import { unused } from 'shaken';
        import 'styles/all.css';
        import './own.css';
        import Worker from './worker.js?worker';
        new Worker();
        used();
        import('@scope/later');
      `,
    });
    expect(Object.keys(inventory)).toEqual([
      'node_modules/@scope/later',
      'node_modules/font',
      'node_modules/in-worker',
      'node_modules/styles',
      'node_modules/used',
      'node_modules/used/node_modules/within',
      'node_modules/vite',
    ]);
  });

  it('comes with the texts beside it and beside what it was copied from, and with what its files say', async () => {
    const inventory = await bundled({
      ...module(
        'noted',
        `/*! noted 1.0 | MIT */
import './parts/copied/part.js';
export const plain = 1; // Not of a licence.
// Copyright 2001 Somebody
//   who wrote this line
document.title = "/* Copyright of nobody */";`,
      ),
      'node_modules/noted/LICENSE-MIT.txt': 'a licence',
      'node_modules/noted/ThirdPartyNotices.txt': 'more',
      'node_modules/noted/licenses.js': 'export default 1;',
      'node_modules/noted/parts/copied/LICENCE': 'another',
      'node_modules/noted/parts/left/LICENSE': 'of what is not bundled',
      'node_modules/noted/parts/copied/part.js':
        '/**\n * Licensed under something\n */\nglobalThis.part = 1;',
      'page/page.js': 'import "noted";',
    });
    expect(inventory['node_modules/noted']).toEqual({
      texts: [
        'node_modules/noted/LICENSE-MIT.txt',
        'node_modules/noted/ThirdPartyNotices.txt',
        'node_modules/noted/parts/copied/LICENCE',
      ],
      comments: [
        'Copyright 2001 Somebody\n  who wrote this line',
        'Licensed under something',
        'noted 1.0 | MIT',
      ],
      embedded: [],
    });
  });

  it('says that work of others in a package is another version than is known', async () => {
    const path = 'monaco-editor/esm/vs/base/common/marked/marked.js';
    const building = bundled({
      [`node_modules/${path}`]: '/* marked v15.0.0 */ globalThis.marked = 1;',
      'page/page.js': `import "monaco-editor/esm/vs/base/common/marked/marked.js";`,
    });
    await expect(building).rejects.toThrow(
      `node_modules/${path} is not of marked 14.0.0 any more.`,
    );
  });
});
