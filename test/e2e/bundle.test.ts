import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface Chunk {
  readonly code: string;
  /** What the chunk imports before anything of it runs. */
  readonly imports: readonly string[];
  /** The files that went into it. */
  readonly sources: readonly string[];
}

/** All that Node loads, by its path below `dist`. */
const chunks = new Map(
  readdirSync('dist', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.js') && !path.startsWith('pages/'))
    .map((path) => [path, chunkAt(join('dist', path))]),
);
const every = [...chunks.values()];

function chunkAt(path: string): Chunk {
  const code = readFileSync(path, 'utf8');
  // The bundler's own helpers come from no file, and have no map.
  const map = existsSync(`${path}.map`) ? readFileSync(`${path}.map`, 'utf8') : '{"sources":[]}';
  const { sources } = JSON.parse(map) as Pick<Chunk, 'sources'>;
  const imports = code.matchAll(/^(?:import|export)\b[^'"]*["']([^"']+)["'];$/gm);
  return { code, sources, imports: [...imports].map((match) => match[1] ?? '') };
}

/** What a chunk loads before anything of it runs, itself among it. */
function loadedBy(path: string, loaded = new Map<string, Chunk>()): Map<string, Chunk> {
  const chunk = chunks.get(path);
  if (!chunk || loaded.has(path)) return loaded;
  loaded.set(path, chunk);
  for (const to of chunk.imports) if (to.startsWith('.')) loadedBy(join(path, '..', to), loaded);
  return loaded;
}

const holds = (part: string) => (chunk: Chunk) =>
  chunk.sources.some((source) => source.includes(part));

/** What a gateway loads when it starts: the program, and what serves. */
function loadedToServe(): Chunk[] {
  const [path = ''] = [...chunks].find(([, chunk]) => holds('src/start/serve.ts')(chunk)) ?? [];
  return [...loadedBy(path, loadedBy('main.js')).values()];
}

describe('the build', () => {
  it('holds graphql once: two would not know each other’s errors and types', () => {
    const copies = every.flatMap(
      ({ sources }) => sources.join('\n').match(/.*\/GraphQLError\..*/g) ?? [],
    );
    expect(copies).toEqual([expect.stringContaining('node_modules/graphql/error/GraphQLError.js')]);
  });

  it('needs nothing but Node, and the engine of the store where one is opened', () => {
    const foreign = every
      .flatMap(({ imports }) => imports)
      .filter((to) => !/^(\.|node:)/.test(to) && !builtinModules.includes(to));
    expect(foreign).toEqual(['classic-level']);
  });

  it.each([
    'node_modules/prom-client/',
    'node_modules/jose/',
    'node_modules/@opentelemetry/api/',
    'node_modules/qrcode/',
    'node_modules/@modelcontextprotocol/',
    'node_modules/zod/',
    'src/agents/tools/',
    'src/commands/probe.ts',
    'src/sandbox/',
  ])('leaves %s for when it is needed', (part) => {
    expect(every.some(holds(part))).toBe(true);
    expect(loadedToServe().some(holds('src/gateway.ts'))).toBe(true);
    expect(loadedToServe().some(holds(part))).toBe(false);
  });

  it('runs on any Node as far as to say which one it needs', () => {
    expect(loadedBy('main.js').size).toBe(1);
    expect(chunks.get('main.js')?.imports).toEqual([]);
  });

  it('is ASCII, of which V8 keeps a letter in half the memory', () => {
    const beyond = [...chunks].filter(([, { code }]) => /[^\0-\x7f]/.test(code));
    expect(beyond).toEqual([]);
  });
});
