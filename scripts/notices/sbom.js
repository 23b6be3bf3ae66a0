import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A software bill of materials in the JSON of CycloneDX 1.6: what is bundled, and what of it needs what. It has no
 * serial number and no time, so that two builds of one commit are equal.
 *
 * @param {import('./packages.js').Package[]} packages
 * @param {string} root The folder of the lock file.
 */
export function sbom(packages, root) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const { license, name, version } = lock[''];
  const main = `pkg:npm/${name}@${version}`;
  const byFolder = new Map(packages.flatMap((one) => one.folders.map((folder) => [folder, one])));
  /**
   * @param {string} folder
   * @returns {string[]}
   */
  const needs = (folder, seen = new Set()) =>
    neededBy(folder, lock).flatMap((path) => {
      const one = byFolder.get(path);
      if (one) return [purlOf(one)];
      // A package with only its own dependencies bundled. Dependencies of the build tools are not included.
      if (folder === '' || seen.has(path)) return [];
      return needs(path, seen.add(path));
    });
  const all = [
    { ref: main, folders: [''] },
    ...packages.map((one) => ({ ref: purlOf(one), ...one })),
  ];
  const dependencies = all.map(({ folders, ref }) => ({
    ref,
    dependsOn: [...new Set(folders.flatMap((folder) => needs(folder)))].sort(),
  }));
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'application',
        'bom-ref': main,
        name,
        version,
        licenses: licencesOf(license),
        purl: main,
      },
    },
    components: packages.map(componentOf),
    dependencies,
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/** @param {import('./packages.js').Package} one */
function componentOf(one) {
  const [name, group] = one.name.split('/').reverse();
  const works = one.embedded.map(({ licence, source, ...work }) => ({
    type: 'library',
    'bom-ref': `${purlOf(one)}#${work.name}`,
    name: work.name,
    ...(work.version && { version: work.version }),
    copyright: work.copyright,
    licenses: licencesOf(licence),
    externalReferences: [{ type: 'vcs', url: source }],
  }));
  return {
    type: 'library',
    'bom-ref': purlOf(one),
    ...(group && { group }),
    name,
    version: one.version,
    hashes: [{ alg: 'SHA-512', content: sha512Of(one) }],
    licenses: licencesOf(one.licence),
    purl: purlOf(one),
    externalReferences: [{ type: 'vcs', url: one.source }],
    ...(works.length > 0 && { components: works }),
    properties: one.parts.map((value) => ({ name: 'links-market-gateway:bundled-in', value })),
  };
}

/** @param {import('./packages.js').Package} one */
function purlOf({ name, version }) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** @param {import('./packages.js').Package} one */
function sha512Of({ integrity, name }) {
  const [algorithm, digest = ''] = integrity.split('-');
  if (algorithm !== 'sha512') throw new Error(`${name} has no SHA-512 in the lock file.`);
  return Buffer.from(digest, 'base64').toString('hex');
}

/** @param {string} licence */
function licencesOf(licence) {
  return [/ |\(/.test(licence) ? { expression: licence } : { license: { id: licence } }];
}

/**
 * The folders of the packages that one needs, found as Node finds them.
 *
 * @param {string} folder
 * @param {Record<string, any>} lock
 */
function neededBy(folder, lock) {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = lock[folder];
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies };
  return Object.keys(all).flatMap((name) => {
    for (let at = folder; ; at = at.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
      const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
      if (lock[path]) return [path];
      if (at === '') return [];
    }
  });
}
