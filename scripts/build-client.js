// Makes the package for frontends in `client`: its modules with their types, the graph, and the licence.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeOthers, write } from './output-folder.js';

const folder = 'client/dist';

const draft = mkdtempSync(join(tmpdir(), 'client-'));
/** @type {Map<string, string>} */
const built = new Map();
try {
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'client', '--outDir', draft];
  execFileSync(process.execPath, tsc, { stdio: 'inherit' });
  for (const name of readdirSync(draft)) {
    const text = readFileSync(join(draft, name), 'utf8');
    // A module of types alone is imported by no other.
    if (text.trim() === 'export {};') continue;
    built.set(join(folder, name), text.replace(/( from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
} finally {
  rmSync(draft, { recursive: true });
}
// The compiler would write each member on a separate line: three times the size.
built.set(join(folder, 'introspection.d.ts'), readFileSync('client/introspection.ts', 'utf8'));

for (const [path, text] of built) write(path, text);
removeOthers(folder, (path) => built.has(path));
for (const name of ['schema.graphql', 'LICENSE']) {
  write(join('client', name), readFileSync(name, 'utf8'));
}
