// `npm pack` copies package.json unchanged into the package. The dependencies of a clone, though, are bundled in
// `dist`, and an installed package would have them twice. So before packing (`apply`) the manifest of the package
// replaces it, and afterwards (`restore`) it is restored. `npm publish` in a clone would announce the one and send
// the other: use it for the packed file.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

const manifest = 'package.json';
const saved = '.package.json';

/** What only a clone needs. */
const ofSources = ['scripts', 'devDependencies', 'overrides'];

/** A library with a part for each platform: it is packed as it is, and not in `dist`. */
const engine = 'classic-level';

const [action] = process.argv.slice(2);
if (action === 'apply') {
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(saved, text);
  const kept = Object.entries(JSON.parse(text)).filter(([key]) => !ofSources.includes(key));
  const packed = Object.fromEntries(kept);
  packed.dependencies = { [engine]: packed.dependencies[engine] };
  packed.bundleDependencies = [engine];
  writeFileSync(manifest, `${JSON.stringify(packed, null, 2)}\n`);
} else if (action === 'restore') {
  renameSync(saved, manifest);
} else {
  process.stderr.write('Publish what `npm pack` made: npm publish ./links-market-gateway-….tgz\n');
  process.exitCode = 1;
}
