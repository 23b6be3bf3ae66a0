import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Every source file by its path below src. */
const files = new Map(
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map((path) => [path, readFileSync(join('src', path), 'utf8')]),
);

/** The same without comments: those may name what code may not. */
const sources = new Map(
  [...files].map(([path, text]) => [path, text.replace(/\/\*[^]*?\*\/|(?<![:'"`])\/\/.*$/gm, '')]),
);

interface Edge {
  readonly from: string;
  readonly to: string;
}

/** Static, type-only and dynamic imports alike: a forbidden type is a forbidden edge too. */
const imports: Edge[] = [...sources].flatMap(([from, text]) =>
  [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map((match) => ({
    from,
    to: match[1] ?? '',
  })),
);

const edges: Edge[] = imports
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: normalize(join(dirname(from), to)) }))
  // Data, and the client package, belong to no room.
  .filter(({ to }) => !to.endsWith('.json') && !to.startsWith('../client/'));

/**
 * The rooms in the order of the walk, from the process down to what everything may know. An import goes
 * down or stays in its room.
 */
const floors: readonly (readonly [name: string, files: RegExp])[] = [
  ['processes', /^(main\.ts$|(commands|start)\/)/],
  ['owner', /^owner\.ts$/],
  ['gateway', /^gateway\.ts$/],
  ['backends, servers', /^(backends|servers|shared)\.ts$/],
  ['http', /^http\/(server|shutdown|forward|relay|repeatable|waiting)\.ts$/],
  [
    'agents, files, operators, console, http/pages, http/socket',
    /^(agents|files|operators|console|http\/pages|http\/socket)\//,
  ],
  ['graphql', /^graphql\//],
  ['answers', /^answers\//],
  ['http/door, http/encoding', /^http\/((door|encoding)\/|(byte-range|respond)\.ts$)/],
  ['live', /^live\//],
  ['schema', /^schema\.ts$/],
  ['graph of a noun', /^(links|market)\/.*\.graph\.ts$/],
  ['graph', /^graph\//],
  ['noun', /^(links|market)\//],
  ['series, usage, jobs', /^(series|usage|jobs)\//],
  ['upstream/lists', /^upstream\/lists\//],
  ['upstream', /^upstream\/((?!(request|stamp)\.ts)[^/]+\.ts$|(dry-run|idempotency|reads)\/)/],
  ['upstream/cache', /^upstream\/cache\//],
  ['upstream/budget', /^upstream\/budget\//],
  ['upstream/wire', /^upstream\/wire\//],
  ['upstream/decode', /^upstream\/decode\//],
  ['upstream/request', /^upstream\/request\.ts$/],
  ['observe', /^observe\//],
  ['config', /^config\//],
  ['auth', /^auth\//],
  [
    'base',
    /^((errors|resources|bounded-map|digest|visible-text)\.ts$|(scheduling|storage|store)\/)/,
  ],
  ['sandbox', /^sandbox\//],
];

function floor(path: string): number {
  const index = floors.findIndex(([, files]) => files.test(path));
  expect(index, `src/${path} is in no room of the house`).toBeGreaterThanOrEqual(0);
  return index;
}

const named = ({ from, to }: Edge): string => `${from} imports ${to}`;

function importersOf(module: RegExp): string[] {
  return [...new Set(imports.filter(({ to }) => module.test(to)).map(({ from }) => from))];
}

function usersOf(pattern: RegExp): string[] {
  return [...sources].filter(([, text]) => pattern.test(text)).map(([path]) => path);
}

describe('an import', () => {
  it('is found at all', () => {
    expect(edges.length).toBeGreaterThan(sources.size / 2);
  });

  it('names an existing file by its .ts extension', () => {
    expect(edges.filter(({ to }) => !sources.has(to)).map(named)).toEqual([]);
  });

  it('goes down the walk, never up', () => {
    const upward = edges.filter(
      ({ from, to }) => !to.startsWith('sandbox/') && floor(to) < floor(from),
    );
    expect(upward.map(named)).toEqual([]);
  });

  it('of the configuration comes from processes, the gateway and what answers requests only', () => {
    const below = edges.filter(
      ({ from, to }) =>
        to.startsWith('config/') &&
        !/^(config|http|graphql|answers|files|console|operators|commands|start)\/|^(main|owner|gateway|backends|servers|shared)\.ts$/.test(
          from,
        ),
    );
    expect(below.map(named)).toEqual([]);
  });

  it('of a package is of a dependency, and there is no other dependency', () => {
    const packages = imports.filter(({ to }) => /^(?!node:)[@a-z]/.test(to));
    const names = packages.map(({ to }) => /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0]);
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      readonly dependencies: object;
    };
    expect(new Set(names)).toEqual(new Set(Object.keys(dependencies)));
  });

  it('never closes a circle', () => {
    expect(circles()).toEqual([]);
  });
});

describe('a folder', () => {
  it('holds at most twelve files', () => {
    const counts = new Map<string, number>();
    for (const path of files.keys()) {
      const folder = join('src', dirname(path));
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    const full = [...counts].filter(([, count]) => count > 12);
    expect(full).toEqual([]);
  });
});

describe('an export', () => {
  it('has a name of its own, in the gateway and in the sandbox', () => {
    const clashes = [/^(?!sandbox\/)/, /^sandbox\//].flatMap((half) => {
      const paths = new Map<string, Set<string>>();
      for (const { path, name } of declarations().filter((each) => half.test(each.path))) {
        paths.set(name, (paths.get(name) ?? new Set()).add(path));
      }
      return [...paths].filter(([, where]) => where.size > 1);
    });
    expect(clashes.map(([name, where]) => `${name}: ${[...where].join(', ')}`)).toEqual([]);
  });

  it('has a docstring', () => {
    const bare = declarations().filter(({ documented }) => !documented);
    expect(bare.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
  });
});

describe('the sandbox', () => {
  it('imports nothing from the rest, so that a misreading cannot hide in both', () => {
    const outward = edges.filter(
      ({ from, to }) => from.startsWith('sandbox/') && !to.startsWith('sandbox/'),
    );
    expect(outward.map(named)).toEqual([]);
  });

  it('is imported by the composition root, and by the command that starts it alone', () => {
    const inward = edges.filter(
      ({ from, to }) => to.startsWith('sandbox/') && !from.startsWith('sandbox/'),
    );
    expect(
      inward.filter(({ from }) => !['gateway.ts', 'commands/sandbox.ts'].includes(from)).map(named),
    ).toEqual([]);
  });
});

describe('the composition', () => {
  it('names every option that it hands out: a spread could hand out an unrequested key', () => {
    const composing = /^(gateway|backends|servers|shared)\.ts$/;
    const spread = /\.\.\.\s*[\w$]/;
    expect([...sources.keys()].filter((path) => composing.test(path))).toHaveLength(4);
    expect(usersOf(spread).filter((path) => composing.test(path))).toEqual([]);
  });
});

describe('a library', () => {
  it.each([
    ['bottleneck', /^bottleneck/, /^upstream\//],
    ['lru-cache', /^lru-cache/, /^bounded-map\.ts$/],
  ])('%s is known to one file', (_, module, place) => {
    const importers = importersOf(module);
    expect(importers).toHaveLength(1);
    expect(importers[0]).toMatch(place);
  });

  it('undici is known to the wire, forwarding and the composition root', () => {
    const allowed = /^upstream\/wire\/|^(gateway|http\/(forward|relay))\.ts$/;
    expect(importersOf(/^undici/).filter((path) => !allowed.test(path))).toEqual([]);
  });

  it('of GraphQL is unknown to REST shapes, upstreams and the sandbox', () => {
    const plain = /^(links|market)\/(?!.*\.graph\.ts)|^(upstream|sandbox)\//;
    const importers = importersOf(/^(graphql|graphql-yoga|@pothos\/|@graphql-yoga\/)/);
    expect(importers.filter((path) => plain.test(path))).toEqual([]);
  });
});

describe('the world', () => {
  it('enters as environment in the process only', () => {
    expect(usersOf(/\bprocess\.env\b/)).toEqual(['main.ts']);
  });

  it('enters as time and chance in the clock, the process and the sandbox only', () => {
    const pattern =
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bset(Timeout|Interval)\(|\bMath\.random\b/;
    const allowed = /^(start\/serve|scheduling\/clock)\.ts$|^sandbox\//;
    expect(usersOf(pattern).filter((path) => !allowed.test(path))).toEqual([]);
  });

  it('is shared by the turns of one scheduler', () => {
    const users = usersOf(/\bsetImmediate\b/).filter((path) => !path.startsWith('sandbox/'));
    expect(users).toEqual(['scheduling/loop-turns.ts']);
  });
});

/** Each circle of imports once, as the walk that closes it. */
function circles(): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, walk: readonly string[]): void => {
    if (walk.includes(path)) {
      found.push([...walk.slice(walk.indexOf(path)), path].join(' > '));
      return;
    }
    if (done.has(path)) {
      return;
    }
    for (const { to } of edges.filter(({ from }) => from === path)) {
      visit(to, [...walk, path]);
    }
    done.add(path);
  };
  for (const path of sources.keys()) {
    visit(path, []);
  }
  return found;
}

/** Everything that a source file declares for others; `documented` with a docstring right above it. */
function declarations(): { path: string; name: string; documented: boolean }[] {
  const pattern =
    /^export (?:abstract |async )*(?:class|const|enum|function\*?|interface|let|type) (\w+)/gm;
  return [...files].flatMap(([path, text]) =>
    [...text.matchAll(pattern)].map(({ 1: name = '', index }) => ({
      path,
      name,
      documented: text.slice(0, index).endsWith('*/\n'),
    })),
  );
}
