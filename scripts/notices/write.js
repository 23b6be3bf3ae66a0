import { join } from 'node:path';
import { write } from '../output-folder.js';
import { readPackages, textFor } from './packages.js';
import { sbom } from './sbom.js';

/** In which files the builds of the server and of the pages note what they bundle. */
export const inventories = { server: 'dist/bundled.json', pages: 'dist/pages/bundled.json' };

/** What `writeNotices` writes. */
export const notices = { text: 'dist/THIRD-PARTY-NOTICES.txt', sbom: 'dist/sbom.cdx.json' };

const INTRODUCTION = `Third-party notices

The files beside this one contain code of the packages below. Each section names packages, with the version, the
licence, the part that contains them and where they are developed; then follow the texts of their licences, whole, and
what their files say about authors and licences in comments, which the build leaves out. Some texts speak also of
parts of a package that are not contained here.
`;
const RULE = '='.repeat(80);

/**
 * Writes the third-party notices of `dist`, as a text for people and an SBOM for programs, from the records of
 * both builds.
 *
 * @param {string} root The folder of `dist`, `node_modules` and the lock file.
 * @throws {Error} If a license is missing or not accepted, or a package differs from the lock file.
 */
export function writeNotices(root = '.') {
  const packages = readPackages(inventories, root);
  write(join(root, notices.text), noticesOf(packages));
  write(join(root, notices.sbom), sbom(packages, root));
}

/** @param {import('./packages.js').Package[]} packages */
function noticesOf(packages) {
  /** Headings by what follows: many packages of one author have one text. @type {Map<string, string[]>} */
  const sections = new Map();
  for (const one of packages) {
    const body = bodyOf(one);
    const heading = `${one.name} ${one.version} (${one.licence}) in ${one.parts.join(', ')}\n  ${one.source}`;
    sections.set(body, [...(sections.get(body) ?? []), heading]);
  }
  const written = [...sections].map(([body, headings]) => `${headings.join('\n')}\n\n${body}\n`);
  return [INTRODUCTION, ...written].join(`\n${RULE}\n`);
}

/** @param {import('./packages.js').Package} one */
function bodyOf({ comments, embedded, name, texts }) {
  const works = embedded.map(({ copyright, licence, source, text, ...work }) => {
    const title = [work.name, work.version].filter(Boolean).join(' ');
    return `${name} contains ${title} (${licence}).\n\n${textFor(title, text, copyright, source)}`;
  });
  const said = comments.map(
    (comment) => `In its files:\n\n${comment.replaceAll(/^(?=.)/gm, '  ')}`,
  );
  return [...texts, ...works, ...said].join(`\n\n${'-'.repeat(80)}\n`);
}
