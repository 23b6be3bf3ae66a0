// Makes what browsers load of the pages for people, in `dist/pages`: documents, and assets that are named by their
// content and packed once, not for each visitor.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { Bundled } from './notices/bundled.js';
import { inventories, writeNotices } from './notices/write.js';
import { removeOthers, write } from './output-folder.js';

// Also in a build that a test starts, which would get what React has for its developers.
process.env.NODE_ENV = 'production';

const folder = 'dist/pages';
/** Names what the pages were made from: to make the same again takes seconds. */
const stamp = join(folder, 'made-from');

const digest = createHash('sha256');
// The client is part of a page, what is built of it is not.
const client = filesIn('client').filter((path) => /^client.[\w-]+\.ts$/.test(path));
for (const path of [...filesIn('pages'), ...client, ...filesIn('scripts')].sort()) {
  digest.update(path).update(readFileSync(path));
}
digest.update(readFileSync('package-lock.json'));
const madeFrom = digest.digest('hex');
if (madeFrom !== read(stamp)) await make();
writeNotices();

async function make() {
  const bundled = new Bundled();
  const plugins = [bundled.plugin];
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
  write(stamp, madeFrom);
}

/**
 * A tenth larger than it could be, and made in a twentieth of the time: who starts a gateway for the first time waits.
 *
 * @param {Buffer} content
 */
function packed(content) {
  return promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
}

/** @param {string} directory */
function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** @param {string} path */
function order(path) {
  return path.endsWith('.html') ? 1 : 0;
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
