import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Setting, type SettingKind, settings } from '../src/config/settings.ts';
import { startSandbox } from '../src/sandbox/sandbox.ts';
import { headline, section } from './bench/report/table.ts';
import { tempFolder } from './support/folder.ts';
import { startWorld, type World } from './support/gateway.ts';
import { fencedBlocks, leads, pageAt, pageExamples, pages } from './support/readme.ts';
import { expectAsShown, runExample } from './support/run-example.ts';

/** All settings as one table, in Markdown without a trailing newline; the page cuts it into groups. */
function renderSettings(settings: readonly Setting[]): string {
  return [
    '| Variable | Default | Value | What it does |',
    '|---|---|---|---|',
    ...settings.map((setting) => {
      const name = setting.secret
        ? `\`${setting.name}\`, \`${setting.name}_FILE\``
        : `\`${setting.name}\``;
      const value = setting.default === null ? '' : `\`${setting.default}\``;
      return `| ${name} | ${value} | ${describeKind(setting.kind)} | ${setting.doc} |`;
    }),
  ].join('\n');
}

function describeKind(kind: SettingKind): string {
  switch (kind.type) {
    case 'integer':
      return `${kind.min} to ${kind.max}`;
    case 'choice':
      return kind.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'flag':
      return '`true`, `false`';
    case 'baseUrl':
    case 'url':
      return 'URL';
    case 'origins':
      return 'origins';
    case 'timeZone':
      return 'time zone';
    default:
      return 'text';
  }
}

const readme = pageAt('README.md');
const everything = pages.map(({ text }) => text).join('\n');
const docs = pages.filter(({ path }) => path.startsWith('docs/'));
const linesOf = (path: string): number => pageAt(path).trimEnd().split('\n').length;

function errorCodes(file = 'src/errors.ts'): string[] {
  const code = readFileSync(file, 'utf8');
  const union = /\btype (?:Tool)?ErrorCode =([^;]+);/.exec(code)?.[1] ?? '';
  return [...union.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
}

describe('the pages', () => {
  it('are as short as their readers want them', () => {
    expect(linesOf('README.md')).toBeLessThanOrEqual(125);
    expect(linesOf('CONTRIBUTING.md')).toBeLessThan(105);
  });

  it('are all named by the index, which the README names', () => {
    expect(readme).toContain('(docs/README.md)');
    const index = pageAt('docs/README.md');
    const named = [...index.matchAll(/\]\(([\w./-]+)\)/g)].map(([, to = '']) => join('docs', to));
    const rest = pages.filter(({ path }) => !path.endsWith('README.md'));
    expect(rest.map(({ path }) => path).filter((path) => !named.includes(path))).toEqual([]);
  });

  it.each(docs)('begin by whom they are for: $path', ({ text }) => {
    expect(text).toMatch(/^# .+\n\nFor [^]+?\.\n\n/);
  });

  it.each(docs)('list their sections at the beginning: $path', ({ text }) => {
    const prose = text.replace(/^```.*?^```$/gms, '');
    const sections = [...prose.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    const [contents = ''] = prose.split(/^## /m);
    const listed = [...contents.matchAll(/^- \[(.+?)\]\(#[\w-]+\)$/gm)].map(([, title]) => title);
    expect(listed).toEqual(sections);
  });

  it('list every setting as the code has it', () => {
    const rows = [
      ...pageAt('docs/configuration.md').matchAll(/^\| Variable \|.*\n\|-.*\n((?:\|.*\n)+)/gm),
    ];
    const [head, rule] = renderSettings(settings).split('\n');
    // To renew the tables, copy the expected rows from this test's failure.
    expect(
      [
        head,
        rule,
        rows
          .map(([, some]) => some)
          .join('')
          .trimEnd(),
      ].join('\n'),
    ).toBe(renderSettings(settings));
  });

  it('name no variable in a command that the code does not read', () => {
    const commands = fencedBlocks(everything)
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text)
      .join('\n');
    const named = [...commands.matchAll(/\b([A-Z]+(?:_[A-Z]+)+)=/g)].map(([, name]) => name);
    const known = settings.flatMap(({ name }) => [name, `${name}_FILE`]);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !known.includes(name ?? ''))).toEqual([]);
  });

  it('speak of no setting, code or value that nothing knows', () => {
    const schema = readFileSync('schema.graphql', 'utf8');
    const values = [...schema.matchAll(/^ {2}([A-Z][A-Z_]+)$/gm)].map(([, name = '']) => name);
    const graphql = ['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED'];
    const node = ['NODE_COMPILE_CACHE', 'NODE_ENV', 'NODE_OPTIONS'];
    const workflows = ['NPM_TOKEN'];
    const commands = ['GATEWAY_TOKEN'];
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
    const ofScripts = [...JSON.stringify(scripts).matchAll(/\b([A-Z]+(?:_[A-Z]+)+)=/g)];
    const known = [
      ...settings.flatMap(({ name }) => [name, `${name}_FILE`]),
      ...errorCodes(),
      ...errorCodes('src/agents/tool-error.ts'),
      ...values,
      ...graphql,
      ...node,
      ...workflows,
      ...commands,
      ...ofScripts.map(([, name = '']) => name),
    ];
    const spoken = [...everything.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)];
    expect(spoken.length).toBeGreaterThan(50);
    expect(spoken.map(([, name = '']) => name).filter((name) => !known.includes(name))).toEqual([]);
  });

  it('run no script that package.json does not have, and no file that is not built', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = [...everything.matchAll(/\bnpm (?:run )?([a-z]+)\b/g)].map(
      ([, name = '']) => name,
    );
    expect(named.length).toBeGreaterThan(4);
    // npm's own commands: here, and in a reader's project.
    const own = ['audit', 'ci', 'create', 'i', 'install', 'publish'];
    expect(named.filter((name) => !own.includes(name) && !(name in scripts))).toEqual([]);
    for (const [, name = ''] of everything.matchAll(/\bdist\/(\S+)\.js\b/g)) {
      expect(existsSync(`src/${name}.ts`), name).toBe(true);
    }
  });

  it('say of every code of a tool what to do', () => {
    const page = pageAt('docs/agents.md');
    const codes = errorCodes('src/agents/tool-error.ts');
    expect(codes.length).toBeGreaterThan(2);
    expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([]);
  });

  it('say of every error code what to do', () => {
    const codes = errorCodes();
    expect(codes.length).toBeGreaterThan(10);
    const table =
      /^\| `extensions\.code` \|.*\n(?:\|.*\n)+/m.exec(pageAt('docs/errors.md'))?.[0] ?? '';
    const anchored = (name: string) => `\`${name}\`<a id="${name.toLowerCase()}"></a>`;
    expect(codes.filter((name) => !table.includes(anchored(name)))).toEqual([]);
    const told = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name),
    );
    expect(told.filter((name) => !codes.includes(name) && !name.startsWith('GRAPHQL_'))).toEqual(
      [],
    );
  });

  it('name no file that is not there', () => {
    const layout = fencedBlocks(pageAt('CONTRIBUTING.md')).find(
      ({ language }) => language === 'text',
    );
    const named = [...(layout?.text.matchAll(/^(\S+)/gm) ?? [])].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(7);
    for (const path of named) expect(() => readFileSync(path), path).not.toThrow(/ENOENT/);
  });

  it('link to pages, files and headings that are there', () => {
    const broken = pages.flatMap((page) =>
      [...page.text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !leads(page, target))
        .map((target) => `${page.path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('show the figures of the last run of the benches', () => {
    const run = JSON.parse(readFileSync('test/bench/results.json', 'utf8')) as Parameters<
      typeof section
    >[0];
    // `npm run bench` writes both.
    expect(pageAt('docs/measured.md')).toContain(section(run));
    expect(readme).toContain(headline(run));
  });
});

const withExamples = pages
  .map((page) => ({ ...page, examples: pageExamples(page.text) }))
  .filter(({ examples }) => examples.length > 0);

it('the examples are found at all, and have their answers with them', () => {
  const examples = withExamples.flatMap((page) => page.examples);
  expect(examples.length).toBeGreaterThanOrEqual(20);
  expect(pageExamples(readme).length).toBeGreaterThanOrEqual(2);
  expect(examples.filter(({ answers }) => answers.length === 0)).toEqual([]);
});

/** A gateway on a sandbox of its own, under the limits that the examples were run under. */
async function openWorld(env: Readonly<Record<string, string>>): Promise<World> {
  const sandbox = await startSandbox();
  const limits = { LINKS_RATE_LIMIT: '30', MARKET_RATE_LIMIT: '60' };
  // The port is the machine's choice.
  const world = await startWorld({
    on: sandbox,
    env: { PORT: '0', ...limits, ...env },
  });
  const close = async (): Promise<void> => {
    await world.close();
    await sandbox.close();
  };
  return { ...world, close };
}

describe.each(withExamples)('the examples of $path', ({ examples }) => {
  const folder = tempFolder();
  const worlds: World[] = [];
  const urls = new Map<string, string>();
  afterAll(async () => {
    for (const world of worlds) await world.close();
  });

  /** Where the gateway listens that a reader has by now: a file of operations needs another one. */
  async function urlFor({ files }: (typeof examples)[number]): Promise<string> {
    const operations = files['operations.json'] ?? '';
    const known = urls.get(operations);
    if (known !== undefined) return known;
    const path = join(folder, 'operations.json');
    if (operations !== '') writeFileSync(path, operations);
    const env = operations === '' ? {} : { PERSISTED_OPERATIONS_FILE: path };
    const world = await openWorld(env);
    worlds.push(world);
    const { url } = await world.gateway.listen();
    urls.set(operations, url);
    return url;
  }

  it('get the answers that are shown, when they are asked one after the other', async () => {
    for (const example of examples.filter(({ kind }) => kind !== 'page')) {
      const url = await urlFor(example);
      for (const answer of example.answers) {
        const got = await runExample(example, url);
        try {
          expectAsShown(got, answer);
        } catch (error) {
          throw new Error(`${example.title}\n${got.text}`, { cause: error });
        }
      }
    }
  });
});
