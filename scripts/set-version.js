// For `npm version`. Before it (`check`), verifies that there is something to release; after it, writes the
// version of package.json to all other places: the client package, the locks that link to it, and CHANGELOG.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { notesOf, UNRELEASED } from './changelog.js';

if (process.argv[2] === 'check') {
  try {
    notesOf(UNRELEASED);
  } catch (error) {
    process.stderr.write(`${error.message}: there is nothing to release\n`);
    process.exit(1);
  }
} else {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  edit('client/package.json', (text) => text.replace(/("version": ")[^"]+/, `$1${version}`));
  edit('client/README.md', (text) =>
    text.replace(/(market-client-)\d.*?(\.tgz)/g, `$1${version}$2`),
  );
  for (const path of ['examples/dashboard', 'test/docs'].map((at) => `${at}/package-lock.json`)) {
    if (existsSync(path)) edit(path, (text) => withClient(text, version));
  }
  edit('CHANGELOG.md', (text) => text.replace(`\n## ${UNRELEASED}\n`, `\n## ${version}\n`));
}

/**
 * @param {string} path
 * @param {(text: string) => string} change
 */
function edit(path, change) {
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

/**
 * A lock in which the link to the client package has a version.
 *
 * @param {string} text
 * @param {string} version
 */
function withClient(text, version) {
  const lock = JSON.parse(text);
  const linked = lock.packages['../../client'];
  if (linked) linked.version = version;
  return `${JSON.stringify(lock, null, 2)}\n`;
}
