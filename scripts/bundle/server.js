// Puts the program with the libraries it uses into few files in `dist`: Node loads them in less than half of
// the time that a thousand modules take, and nothing else is needed to run it. Types are `npm run check`'s.
import { join, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { directValues } from '../direct-values.js';
import { Bundled } from '../notices/bundled.js';
import { readPackages } from '../notices/packages.js';
import { inventories, notices, writeNotices } from '../notices/write.js';
import { removeOthers, write } from '../output-folder.js';
import { began, finished, isBuilt, ofSources, pages, server } from './products.js';

const { folder } = server;
const madeFrom = began(server);
const bundled = new Bundled();

const bundle = await rolldown({
  input: { main: 'src/main.ts' },
  platform: 'node',
  // Otherwise graphql looks for a second copy of itself, a quarter of the time that an operation takes.
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  external: ['classic-level', 'pg-native'],
  plugins: [ofSources(server), directValues, bundled.plugin],
  // Files next to a module that reads them, such as the sandbox's video, are copied into dist too.
  experimental: { resolveNewUrlToAsset: true },
  // A library uses it in code that the gateway never calls.
  checks: { eval: false },
  onLog(level, { message }) {
    // Such as an import that is nowhere: it would fail when it is run.
    if (level === 'warn') throw new Error(message);
  },
});

const { output } = await bundle.generate({
  chunkFileNames: 'chunks/[name].js',
  assetFileNames: 'media/[name][extname]',
  sourcemap: true,
  comments: false,
  // Names and lines stay, for stack traces. V8 keeps a source with any other letter at twice the size.
  minify: { compress: false, mangle: false, codegen: { asciiOnly: true, removeWhitespace: false } },
});
await bundle.close();

const built = new Map(
  output.map((file) => [
    join(folder, file.fileName),
    file.type === 'chunk' ? file.code : file.source,
  ]),
);
built.set(join(inventories.server), bundled.describe());
for (const [path, content] of built) write(path, content);
// What browsers load of it, and the package for frontends, are other scripts'.
const others = [
  join(folder, 'pages', sep),
  join(folder, 'client', sep),
  ...Object.values(notices).map((path) => join(path)),
];
removeOthers(folder, (path) => built.has(path) || others.some((other) => path.startsWith(other)));
// A build with packages that differ from the lock file is not a build of these sources.
readPackages({ server: inventories.server }, '.');
// If the pages are built next, that build writes the packages of both.
if (isBuilt(pages)) writeNotices();
finished(server, madeFrom, built.keys());
