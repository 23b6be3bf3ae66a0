import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { embedded, holders } from './embedded.js';

/** Licences that let anyone pass the code on with a notice. A person reads any other before it is added here. */
const ACCEPTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-4.0',
  'ISC',
  'MIT',
]);

/**
 * A package that is bundled.
 *
 * @typedef {object} Package
 * @property {string[]} folders Of its copies, as in the lock file.
 * @property {string} name
 * @property {string} version
 * @property {string} licence An SPDX expression.
 * @property {string} integrity Of its archive in the registry, as the lock file has it.
 * @property {string} source Where it is developed.
 * @property {string[]} parts What it is bundled in: `server`, `pages`.
 * @property {string[]} texts Of its licences, whole.
 * @property {string[]} comments What its bundled files say of licences.
 * @property {import('./embedded.js').Embedded[]} embedded
 */

/**
 * @param {Record<string, string>} inventories By part: the file in which its build noted what is bundled.
 * @param {string} root The folder of the lock file and of `node_modules`.
 * @returns {Package[]} By name and version.
 * @throws {Error} Where a licence is missing or not accepted, or a package is not the one of the lock file.
 */
export function readPackages(inventories, root) {
  const { packages: locked } = readJson(join(root, 'package-lock.json'));
  /** @type {Map<string, Package>} */
  const found = new Map();
  for (const [part, path] of Object.entries(inventories)) {
    for (const [folder, contents] of Object.entries(readJson(join(root, path)))) {
      const one = readPackage(folder, locked[folder], contents.texts, root);
      const key = `${one.name}@${one.version}`;
      const known = found.get(key) ?? one;
      found.set(key, {
        ...known,
        folders: union(known.folders, [folder]),
        parts: union(known.parts, [part]),
        texts: union(known.texts, one.texts),
        comments: union(known.comments, contents.comments),
        embedded: embedded.filter(
          (work) => known.embedded.includes(work) || contents.embedded.includes(work.name),
        ),
      });
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/**
 * @param {string} folder
 * @param {any} locked What the lock file has of it.
 * @param {string[]} files With its licences.
 * @param {string} root
 * @returns {Package}
 */
function readPackage(folder, locked, files, root) {
  const found = readJson(join(root, folder, 'package.json'));
  const { author, homepage, license, name, repository, version } = found;
  const wanted = `${locked?.name ?? folder.replace(/^.*node_modules\//, '')} ${locked?.version}`;
  if (`${name} ${version}` !== wanted) {
    throw new Error(`${folder} is ${name} ${version}, the lock file has ${wanted}: npm ci.`);
  }
  if (!locked.integrity) throw new Error(`${name} ${version} has no digest in the lock file.`);
  if (license !== locked.license || !isAccepted(license)) {
    throw new Error(
      `${name} ${version} has the licence ${JSON.stringify(license)}, ${JSON.stringify(locked.license)} in the lock ` +
        'file: it must be the same in both, and accepted in scripts/notices/packages.js.',
    );
  }
  const place = typeof repository === 'string' ? repository : repository?.url;
  const source = addressOf(place ?? homepage ?? `https://www.npmjs.com/package/${name}`);
  const texts = files.map((file) => tidy(readFileSync(join(root, file), 'utf8')));
  if (texts.length === 0)
    texts.push(textFor(`${name} ${version}`, license, holders[name] ?? holderOf(author), source));
  const { integrity } = locked;
  return {
    ...{ name, version, licence: license, integrity, source },
    ...{ folders: [], parts: [], texts, comments: [], embedded: [] },
  };
}

/** @param {unknown} licence */
export function isAccepted(licence) {
  if (typeof licence !== 'string') return false;
  return licence.split(' OR ').some((one) => ACCEPTED.has(one.replace(/^\(|\)$/g, '')));
}

/**
 * The replacement for a missing license text: it states that, and only facts from the package.
 *
 * @param {string} what
 * @param {string} licence
 * @param {string | undefined} holder
 * @param {string} source
 */
export function textFor(what, licence, holder, source) {
  if (!holder)
    throw new Error(`${what} names neither a text of its licence nor an author: see embedded.js.`);
  const text = readFileSync(new URL(`texts/${licence}.txt`, import.meta.url), 'utf8');
  return tidy(
    `${what} comes without the text of its licence, ${licence}, which is:\n\n${holder}\n${source}\n\n${text}`,
  );
}

/** @param {any} author */
function holderOf(author) {
  const name = (author?.name ?? author)?.replace(/\s*[<(].*$/, '');
  return name ? `Author: ${name}` : undefined;
}

/** @param {string} address Such as `git+https://…`, `git@github.com:…`, or `owner/name` at GitHub. */
function addressOf(address) {
  const [, short] = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(address) ?? [];
  if (short) return `https://github.com/${short}`;
  const plain = address.replace(/^(git\+|git:\/\/|https?:\/\/|ssh:\/\/|git@)+|\/?(\.git)?$/g, '');
  return `https://${plain.replace(':', '/')}`;
}

/** @param {string} text */
function tidy(text) {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .split('\n');
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}

/**
 * @template T
 * @param {T[]} some
 * @param {T[]} others
 */
function union(some, others) {
  return [...new Set([...some, ...others])];
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
