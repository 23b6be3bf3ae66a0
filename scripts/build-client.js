// Makes the package for frontends in `client`: its modules with their types, the graph, and the licence; and the file by
// which the gateway has it installed.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { began, client, finished } from './bundle/products.js';
import { tarball } from './bundle/tarball.js';
import { removeOthers, write } from './output-folder.js';

const madeFrom = began(client);
const draft = mkdtempSync(join(tmpdir(), 'client-'));
/** By their paths in the package. @type {Map<string, string>} */
const built = new Map();
try {
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'client', '--outDir', draft];
  execFileSync(process.execPath, tsc, { stdio: 'inherit' });
  for (const name of readdirSync(draft)) {
    const text = readFileSync(join(draft, name), 'utf8');
    // A module of types alone is imported by no other.
    if (text.trim() === 'export {};') continue;
    built.set(`dist/${name}`, text.replace(/( from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
} finally {
  rmSync(draft, { recursive: true });
}
// The compiler would write each member on a separate line: three times the size.
built.set('dist/introspection.d.ts', readFileSync('client/introspection.ts', 'utf8'));
for (const name of ['schema.graphql', 'LICENSE']) built.set(name, readFileSync(name, 'utf8'));

for (const [path, text] of built) write(join('client', path), text);
removeOthers('client/dist', (path) => built.has(path.replace(/^client./, '').replace('\\', '/')));

for (const name of ['README.md', 'package.json']) {
  built.set(name, readFileSync(join('client', name), 'utf8'));
}
const file = join(client.folder, 'client.tgz');
write(file, tarball(built));
finished(client, madeFrom, [file]);
