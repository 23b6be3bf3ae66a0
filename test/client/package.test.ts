import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSchema, isAbstractType, isScalarType, isSpecifiedScalarType } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { possibleTypes } from '../../client/possible-types.ts';
import { fencedBlocks } from '../support/readme.ts';
import { minifiedClient } from './timed-client.ts';

const read = (path: string): string => readFileSync(path, 'utf8');
const json = (path: string) => JSON.parse(read(path)) as Record<string, unknown>;
const schema = buildSchema(read('schema.graphql'));
const own = (name: string): boolean => !name.startsWith('__');

describe('the client package', () => {
  it('has the version of the gateway, wherever it is written', () => {
    const { version } = json('package.json');
    expect(json('client/package.json')['version']).toBe(version);
    const lock = json('examples/dashboard/package-lock.json') as {
      packages: Record<string, { version?: string }>;
    };
    expect(lock.packages['../../client']?.version).toBe(version);
    expect(json('package-lock.json')['version']).toBe(version);
    expect(read('client/README.md')).toContain(`links-market-client-${String(version)}.tgz`);
  });

  it('has the sizes that its page states, minified', async () => {
    const page = read('client/README.md');
    const stated = (pattern: RegExp): number => Number(pattern.exec(page)?.[1]);
    const sizes = [
      ['index.ts', stated(/All exports together have (\d+) kB/)],
      ['live.ts', stated(/\| `live` \|.*\((\d+) kB\)/)],
      ['retry.ts', stated(/\| `retryingFetch` \|.*\((\d+) kB\)/)],
      ['pending-writes.ts', stated(/\| `pendingWrites` \|.*\((\d+) kB\)/)],
    ] as const;
    for (const [file, kB] of sizes) {
      const bytes = Buffer.byteLength(await minifiedClient(file));
      expect([file, Math.round(bytes / 1000)]).toEqual([file, kB]);
    }
  });

  it('has live queries that import nothing, in at most 4 KB', async () => {
    const minified = await minifiedClient('live.ts');
    expect(Buffer.byteLength(minified)).toBeLessThanOrEqual(4096);
    expect(minified).not.toMatch(/\bimport\b|\brequire\b/);
  });

  it('knows every type that a shared fragment fits', () => {
    const types = Object.values(schema.getTypeMap()).filter(isAbstractType);
    expect(possibleTypes).toEqual(
      Object.fromEntries(
        types.map((type) => [
          type.name,
          schema
            .getPossibleTypes(type)
            .map(({ name }) => name)
            .toSorted(),
        ]),
      ),
    );
  });

  it('knows every scalar that the graph has of its own', () => {
    const scalars = Object.values(schema.getTypeMap())
      .filter((type) => isScalarType(type) && !isSpecifiedScalarType(type) && own(type.name))
      .map(({ name }) => name);
    const known = [...read('client/scalars.ts').matchAll(/^ {2}(\w+): /gm)].map(
      ([, name = '']) => name,
    );
    expect(known.toSorted()).toEqual(scalars.toSorted());
  });
});

describe('what `npm pack` makes of it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'frontend-'));
  const unpacked = join(folder, 'node_modules/links-market-client');
  beforeAll(() => {
    const packing = ['pack', './client', '--pack-destination', folder, '--loglevel', 'error'];
    execFileSync('npm', packing);
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    expect(file).toBe(`links-market-client-${String(json('package.json')['version'])}.tgz`);
    mkdirSync(unpacked, { recursive: true });
    execFileSync('tar', ['-xzf', join(folder, file), '-C', unpacked, '--strip-components=1']);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has its modules with their types, the graph and the licence, and needs nothing else', () => {
    const paths = readdirSync(unpacked, { recursive: true, encoding: 'utf8' });
    expect(paths.filter((path) => !path.startsWith('dist')).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
      'schema.graphql',
    ]);
    const modules = paths.filter((path) => path.startsWith('dist/'));
    expect(modules.filter((path) => !/\.(js|d\.ts)$/.test(path))).toEqual([]);
    for (const path of modules) {
      const from = [
        ...read(join(unpacked, path)).matchAll(/^(?:import|export)\b.* from '(.*)';$/gm),
      ];
      for (const [, to = ''] of from) expect(to, path).toMatch(/^\.\/[\w-]+\.js$/);
    }
    for (const name of ['LICENSE', 'schema.graphql']) {
      expect(read(join(unpacked, name))).toBe(read(name));
    }
    const described = json(join(unpacked, 'package.json'));
    expect(Object.keys(described).filter((name) => /dependencies/i.test(name))).toEqual([]);
    // Nothing runs where it is installed.
    expect(Object.keys(described['scripts'] ?? {})).toEqual(['prepack']);
  });

  it('is what the gateway serves', () => {
    const filesOf = (file: string) => {
      const target = join(folder, file.replaceAll('/', '-').replace(/\.tgz$/, ''));
      mkdirSync(target);
      execFileSync('tar', ['-xzf', file, '-C', target]);
      const paths = readdirSync(target, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name, parentPath }) => join(parentPath, name));
      return Object.fromEntries(paths.map((path) => [path.slice(target.length), read(path)]));
    };
    const npms = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    const served = filesOf('dist/client/client.tgz');
    expect(served).toEqual(filesOf(join(folder, npms)));
    const verbose = execFileSync('tar', ['-tvzf', 'dist/client/client.tgz'], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    });
    for (const line of verbose.trim().split('\n')) {
      expect(line).toMatch(/^-rw-r--r-- 0\/0 +\d+ 1985-10-26 08:15 package\//);
    }
    expect(readFileSync('dist/client/client.tgz').subarray(4, 10)).toEqual(
      Buffer.from([0, 0, 0, 0, 2, 255]),
    );
  });

  it('runs in Node, with nothing beside it', () => {
    writeFileSync(
      join(folder, 'run.js'),
      `import * as client from 'links-market-client';
       import { readFileSync } from 'node:fs';
       const error = { extensions: { code: 'BUDGET_EXHAUSTED', retryAfterMs: 2500 } };
       const graph = readFileSync(new URL(import.meta.resolve('links-market-client/schema.graphql')), 'utf8');
       console.log(JSON.stringify([
         Object.keys(client), client.retryAfterMs([error]), graph.includes('type Query'),
       ]));`,
    );
    const said = execFileSync(process.execPath, ['run.js'], { cwd: folder, encoding: 'utf8' });
    expect(JSON.parse(said)).toEqual([
      ['idempotencyKey', 'live', 'pendingWrites', 'possibleTypes', 'retryAfterMs', 'retryingFetch'],
      2500,
      true,
    ]);
  });

  it.each(['bundler', 'nodenext'])(
    'has sound types in a page, where there is no Node, as resolved by %s',
    (resolution) => {
      // The blocks of its own page, but for the one that needs gql.tada.
      const blocks = fencedBlocks(read('client/README.md'))
        .filter(({ language, text }) => language === 'ts' && !text.includes('gql.tada'))
        .map(({ text }) => text);
      expect(blocks).toHaveLength(3);
      const more = `
import { type introspection, possibleTypes, retryAfterMs, type Scalars } from 'links-market-client';
export const list: readonly string[] = possibleTypes.Error;
export const map: Record<string, string[]> = possibleTypes;
export const ms: number | null = retryAfterMs([new Error('no code')], new Headers());
export const day: Scalars['Date'] = '2026-01-31';
export const kind: introspection['types']['Account']['kind'] = 'OBJECT';
// @ts-expect-error Not of the graph.
export type None = introspection['types']['Nothing'];
`;
      const files = [...blocks, more].map((text, index) => {
        writeFileSync(join(folder, `page-${index}.ts`), text);
        return `page-${index}.ts`;
      });
      const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
      const options =
        `--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --target es2022 --types --lib es2023,dom,dom.iterable ` +
        `--module ${module} --moduleResolution ${resolution}`;
      const tsc = resolve('node_modules/typescript/bin/tsc');
      const args = [
        tsc,
        ...options.split(' ').flatMap((each) => (each === '--types' ? [each, ''] : [each])),
      ];
      execFileSync(process.execPath, [...args, ...files], { cwd: folder, stdio: 'pipe' });
    },
  );
});

describe('what the package knows of the graph', () => {
  it('is what `npm run schema` writes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'client-types-'));
    mkdirSync(join(folder, 'client'));
    writeFileSync(join(folder, 'schema.graphql'), read('schema.graphql'));
    execFileSync(process.execPath, [resolve('scripts/client-types.js')], { cwd: folder });
    const written = readdirSync(join(folder, 'client'));
    expect(written.toSorted()).toEqual(['introspection.ts', 'possible-types.ts']);
    for (const name of written) {
      expect(read(join(folder, 'client', name))).toBe(read(join('client', name)));
    }
    rmSync(folder, { recursive: true });
  });
});
