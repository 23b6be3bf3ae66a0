import { readdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { legalComments } from './comments.js';
import { embedded } from './embedded.js';

/** License files next to a package's code. */
const TEXT =
  /^(licen[cs]e|copying|notice|copyright|third-?party)[-\w]*(\.(md|txt|mit|bsd|apache))?$/i;

/** Modules that a bundler generates, and the package with their code. */
const WRITTEN = [
  [/^\0rolldown\//, 'node_modules/rolldown'],
  [/^\0vite\//, 'node_modules/vite'],
];

/**
 * Notes which files of packages a bundle is made of. What the bundler left out as unused is not in it.
 *
 * @typedef {{ texts: string[], comments: string[], embedded: string[] }} Contents Of a package: its files with licence
 *   texts, what its bundled files say of licences in comments, and which programs of others are among them.
 */
export class Bundled {
  #root;
  /** By the folder of a package, as the lock file names it. @type {Map<string, Set<string>>} */
  #files = new Map();

  /** @param {string} root The folder of `node_modules`. */
  constructor(root = '.') {
    this.#root = root;
  }

  /** For Rolldown and for Vite, in which bundles of workers take it too. */
  plugin = {
    name: 'bundled-packages',
    generateBundle: (_options, output) => {
      for (const file of Object.values(output)) {
        if (file.type === 'asset') file.originalFileNames.forEach((name) => this.#add(name));
        else this.#addModules(file.modules);
      }
    },
  };

  /** @returns {string} For a file next to the bundle, which `writeNotices` reads. */
  describe() {
    /** @type {[string, Contents][]} */
    const all = [...this.#files].map(([folder, files]) => [
      folder,
      contentsOf(this.#root, folder, files),
    ]);
    all.sort(([a], [b]) => (a < b ? -1 : 1));
    return `${JSON.stringify(Object.fromEntries(all), null, 1)}\n`;
  }

  /** Styles have moved into files of their own, and so are of no length here. */
  #addModules(modules) {
    for (const [id, { renderedLength }] of Object.entries(modules)) {
      if (renderedLength > 0 || /\.css(\?|$)/.test(id)) this.#add(id);
    }
  }

  /** @param {string} id Absolute, or relative to the root or a folder in it. */
  #add(id) {
    if (id.startsWith('\0')) {
      const folder = WRITTEN.find(([pattern]) => pattern.test(id))?.[1];
      if (!folder) throw new Error(`It is not known whose code ${JSON.stringify(id)} is.`);
      this.#filesOf(folder);
      return;
    }
    const file = id.replace(/\?.*$/, '');
    const path = isAbsolute(file) ? relative(this.#root, file) : file.replace(/^(\.\.\/)+/, '');
    const place = path.split(sep).join('/');
    const folder = /^(.*\/)?node_modules\/(@[^/]+\/)?[^/]+/.exec(place)?.[0];
    if (folder) this.#filesOf(folder).add(place);
  }

  /** @param {string} folder */
  #filesOf(folder) {
    const files = this.#files.get(folder) ?? new Set();
    this.#files.set(folder, files);
    return files;
  }
}

/**
 * @param {string} root
 * @param {string} folder
 * @param {Set<string>} files
 * @returns {Contents}
 */
function contentsOf(root, folder, files) {
  // A copied part can have its license in a deeper folder than the package's own.
  const folders = new Set([folder]);
  for (const file of files) {
    for (let at = dirname(file); at !== folder; at = dirname(at)) folders.add(at);
  }
  const texts = [...folders].flatMap((at) =>
    readdirSync(join(root, at))
      .filter((name) => TEXT.test(name))
      .map((name) => join(at, name).split(sep).join('/')),
  );
  const comments = [...files].flatMap((file) => legalComments(join(root, file)));
  return {
    texts: texts.sort(),
    comments: [...new Set(comments)].sort(),
    embedded: embedded.filter((part) => isAmong(root, files, part)).map(({ name }) => name),
  };
}

/**
 * @param {string} root
 * @param {Set<string>} files
 * @param {import('./embedded.js').Embedded} part
 */
function isAmong(root, files, { at, name, version }) {
  const found = [...files].filter((file) => file.includes(at));
  const says = (/** @type {string} */ file) =>
    readFileSync(join(root, file), 'utf8').includes(version ?? '');
  if (!found.every(says)) throw new Error(`${found} is not of ${name} ${version} any more.`);
  return found.length > 0;
}
