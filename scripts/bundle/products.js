// What the build makes in `dist`, of which sources, and whether it is there: to make the same again takes seconds.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { write } from '../output-folder.js';

/**
 * @typedef {object} Product
 * @property {string} folder
 * @property {readonly string[]} sources Files, and folders with all they hold.
 * @property {RegExp} [except] Which of their files are none.
 */

/** What all are made by, and what names their packages. */
const shared = ['package.json', 'package-lock.json', 'scripts', 'tsconfig.json'];

/** The client is part of the server and of pages, what is built of it is not. */
const builtClient = /^client.(?![\w-]+\.ts$)/;

/** @type {Product} */
export const server = { folder: 'dist', sources: ['src', 'client'], except: builtClient };

/** @type {Product} */
export const pages = {
  folder: join('dist', 'pages'),
  sources: ['pages', 'client', 'src/visible-text.ts'],
  except: builtClient,
};

/** @type {Product} */
export const client = {
  folder: join('dist', 'client'),
  sources: ['client', 'schema.graphql', 'LICENSE'],
  // What is built of it, beside it.
  except: /^client.(dist\b|LICENSE$|schema\.graphql$)/,
};

/** @param {Product} product */
const stampOf = ({ folder }) => join(folder, 'made-from');

/**
 * Whether a product is made of the sources as they are now, and all of its files are there.
 *
 * @param {Product} product
 */
export function isBuilt(product) {
  const stamp = stampOf(product);
  if (!existsSync(stamp)) return false;
  const [madeFrom, ...files] = readFileSync(stamp, 'utf8').trimEnd().split('\n');
  return madeFrom === digestOf(product) && files.every((path) => existsSync(path));
}

/**
 * Records that a product is being built: until `finished`, it does not exist. Returns its inputs.
 *
 * @param {Product} product
 */
export function began(product) {
  rmSync(stampOf(product), { force: true });
  return digestOf(product);
}

/**
 * Records the inputs and the files of a product.
 *
 * @param {Product} product
 * @param {string} madeFrom The result of `began`: sources may have changed since then.
 * @param {Iterable<string>} files
 */
export function finished(product, madeFrom, files) {
  write(stampOf(product), `${[madeFrom, ...[...files].sort()].join('\n')}\n`);
}

/**
 * The files below a folder; a file itself.
 *
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/**
 * Files and folders that a product is made of.
 *
 * @param {Product} product
 */
export function sourcesOf({ sources }) {
  return [...shared, ...sources];
}

/**
 * A plugin that stops a build of a module which is not among the product's sources: the product would stay as it is
 * when that module changes.
 *
 * @param {Product} product
 */
export function ofSources(product) {
  const sources = sourcesOf(product);
  return {
    name: 'of-sources',
    /** @param {{ id: string }} module */
    moduleParsed({ id }) {
      const path = relative('.', id);
      if (!isAbsolute(id) || path.includes('node_modules')) return;
      if (sources.some((source) => `${path}${sep}`.startsWith(`${source}${sep}`))) return;
      throw new Error(`${path} is not among the sources of ${product.folder}: see products.js.`);
    },
  };
}

/** @param {Product} product */
function digestOf(product) {
  const { except } = product;
  const digest = createHash('sha256');
  const files = sourcesOf(product)
    .flatMap(filesIn)
    .filter((path) => !except?.test(path));
  for (const path of files.sort()) {
    const content = readFileSync(path);
    digest.update(`${path}\n${content.length}\n`).update(content);
  }
  return digest.digest('hex');
}
