import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { expect, it } from 'vitest';
// @ts-expect-error: a script has no types.
import { holders } from '../../scripts/notices/embedded.js';
import { builtPages, describeWith } from '../support/needs.ts';

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly hashes: readonly { readonly content: string }[];
  readonly components?: readonly { readonly name: string }[];
  readonly properties: readonly { readonly value: string }[];
}

interface Locked {
  readonly version: string;
  readonly integrity?: string;
}

const text = readFileSync('dist/THIRD-PARTY-NOTICES.txt', 'utf8');
const bom = JSON.parse(readFileSync('dist/sbom.cdx.json', 'utf8')) as {
  readonly components: readonly Component[];
};
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** Packages with what they are in, such as `react 19.3.1 in pages`. */
const named = [
  ...text.matchAll(/^(\S+ \S+) \([^)]+\) (in (?:server|pages|server, pages))\n {2}https:/gm),
]
  .map(([, name, parts]) => `${name} ${parts}`)
  .sort();

const nameOf = ({ group, name }: Component): string => (group ? `${group}/${name}` : name);

function lockedAt(folder: string): string {
  const name = folder.replace(/^.*node_modules\//, '');
  return `${name} ${lock.packages[folder]?.version}`;
}

describeWith(builtPages, 'the notices of the build', () => {
  it('are of each package that the source maps of the server name, and of no other', () => {
    const maps = readdirSync('dist', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.js.map') && !path.startsWith('pages'))
      .map((path) => readFileSync(join('dist', path), 'utf8'));
    const sources = maps.flatMap((map) => (JSON.parse(map) as { sources: string[] }).sources);
    const folders = sources.flatMap(
      (source) =>
        /node_modules\/.*node_modules\/(@[^/]+\/)?[^/]+|node_modules\/(@[^/]+\/)?[^/]+/.exec(
          source,
        )?.[0] ?? [],
    );
    const ofServer = named.filter((one) => one.includes(' in server'));
    // Rolldown writes a helper of its own, of which there is no source.
    const found = ofServer
      .map((one) => one.replace(/ in .*/, ''))
      .filter((one) => !one.startsWith('rolldown '));
    expect(found.length).toBeGreaterThan(40);
    expect(found).toEqual([...new Set(folders.map(lockedAt))].sort());
  });

  it('are of the packages in the bill of materials, each of which the lock file has', () => {
    const components = bom.components.map(({ properties, ...one }) => {
      const parts = properties.map(({ value }) => value).join(', ');
      return `${nameOf(one as Component)} ${one.version} in ${parts}`;
    });
    expect(named).toEqual(components.sort());
    const locked = new Map(
      Object.entries(lock.packages).map(([folder, { integrity = '' }]) => [
        lockedAt(folder),
        Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
      ]),
    );
    for (const one of bom.components) {
      const digest = locked.get(`${nameOf(one)} ${one.version}`);
      expect(
        one.hashes.map(({ content }) => content),
        nameOf(one),
      ).toEqual([digest]);
    }
  });

  it('are, as a bill of materials, what the schema of CycloneDX asks for', async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    expect(await validator.validate(JSON.stringify(bom))).toBeNull();
    const without = bom.components.map((one) => ({ ...one, name: undefined }));
    expect(
      await validator.validate(JSON.stringify({ ...bom, components: without })),
    ).not.toBeNull();
  });

  it.each([
    'react',
    'react-dom',
    'graphiql',
    'monaco-editor',
    // In a worker alone.
    'picomatch-browser',
    'vite',
  ])('are of %s, which is in the pages alone', (name) => {
    expect(named.filter((one) => one.startsWith(`${name} `))).toEqual([
      expect.stringMatching(/ in pages$/),
    ]);
  });

  it('are of the font and of the programs of others which packages bring without a licence', () => {
    const works = bom.components.flatMap(({ components = [] }) =>
      components.map(({ name }) => name),
    );
    expect(works.sort()).toEqual(['codicons', 'dompurify', 'llhttp', 'marked']);
    const fonts = readdirSync('dist/pages/assets').filter((name) => /\.(ttf|woff2?)$/.test(name));
    expect(fonts).toEqual([expect.stringMatching(/^codicon-/)]);
    expect(text).toContain('Creative Commons Attribution 4.0 International Public');
    expect(text).toContain('Copyright Fedor Indutny, 2018.');
  });

  it('name who holds the rights in packages without a text, of which none else does so', () => {
    const names = [
      ...text.matchAll(
        /^(\S+) \S+ comes without the text of its licence, \S+, which is:\n\n(.*)/gm,
      ),
    ]
      .filter(([, , holder = '']) => !holder.startsWith('Author: '))
      .map(([, name = '']) => name)
      .filter((name) => named.some((one) => one.startsWith(`${name} `)));
    expect([...new Set(names)].sort()).toEqual(Object.keys(holders as object).sort());
  });

  it('have a text for each', () => {
    const sections = text.split(/^={80}\n/m).slice(1);
    expect(sections.length).toBeGreaterThan(60);
    for (const section of sections) {
      const body = section.replace(/^(\S+ \S+ \(.*\n.*\n)+\n/, '');
      expect(body, section.slice(0, 80)).toMatch(/permission|licen[cs]e|redistribution/i);
      expect(body.length, section.slice(0, 80)).toBeGreaterThan(500);
    }
    expect(
      sections.flatMap((section) => section.match(/^\S+ \S+ \([^)]+\) in /gm) ?? []),
    ).toHaveLength(named.length);
  });
});
