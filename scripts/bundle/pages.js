// Makes what browsers load of the pages for people, in `dist/pages`: documents, and assets that are named by their
// content and packed once, not for each visitor.
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { Bundled } from '../notices/bundled.js';
import { readPackages } from '../notices/packages.js';
import { inventories } from '../notices/write.js';
import { removeOthers, write } from '../output-folder.js';
import { began, finished, ofSources, pages } from './products.js';

// Also in a build that a test starts, which would get what React has for its developers.
process.env.NODE_ENV = 'production';

const { folder } = pages;
const madeFrom = began(pages);
const bundled = new Bundled();
const plugins = [ofSources(pages), bundled.plugin];
const built = await build({
  configFile: 'pages/vite.config.js',
  plugins,
  worker: { plugins: () => plugins },
});
const { output } = /** @type {import('vite').Rolldown.RolldownOutput} */ (built);
/** @type {Map<string, string | Uint8Array>} */
const files = new Map();
await Promise.all(
  output.map(async (file) => {
    const path = join(folder, file.fileName);
    const content = Buffer.from(file.type === 'chunk' ? file.code : file.source);
    files.set(path, content);
    if (file.fileName.endsWith('.html')) return;
    files.set(`${path}.br`, await packed(content));
    files.set(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
  }),
);
files.set(join(inventories.pages), bundled.describe());
// The documents last, and what they do not name any more after them.
const documentsLast = [...files].sort(([a], [b]) => order(a) - order(b));
for (const [path, content] of documentsLast) write(path, content);
removeOthers(folder, (path) => files.has(path));
// A build with packages that differ from the lock file is not a build of these sources.
readPackages({ pages: inventories.pages }, '.');
finished(pages, madeFrom, files.keys());

/**
 * A tenth larger than possible, but twenty times faster: the first start waits for it.
 *
 * @param {Buffer} content
 */
function packed(content) {
  return promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
}

/** @param {string} path */
function order(path) {
  return path.endsWith('.html') ? 1 : 0;
}
