import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../src/config/settings.ts';
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox.ts';
import { startWorld, type World } from './support/gateway.ts';
import { fencedBlocks, type ReadmeExample, readmeExamples } from './support/readme.ts';
import { renderSettings } from './support/settings-table.ts';

const readme = readFileSync('README.md', 'utf8');

describe('the README', () => {
  it('lists every setting as the code has it', () => {
    const table = /^\| Variable \|.*\n(?:\|.*\n)+/m.exec(readme)?.[0].trimEnd();
    // To renew the table, copy the expected one from this test's failure.
    expect(table).toBe(renderSettings(settings));
  });

  it('names no variable in a command that the code does not read', () => {
    const commands = fencedBlocks(readme)
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text)
      .join('\n');
    const named = [...commands.matchAll(/\b([A-Z]+(?:_[A-Z]+)+)=/g)].map(([, name]) => name);
    const known = settings.map(({ name }) => name);
    expect(named.filter((name) => !known.includes(name ?? ''))).toEqual([]);
  });

  it('runs no script that package.json does not have', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = [...readme.matchAll(/\bnpm (?:run )?([a-z]+)\b/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => name !== 'ci' && !(name in scripts))).toEqual([]);
  });

  it('says of every error code what to do', () => {
    const code = readFileSync('src/errors.ts', 'utf8');
    const union = /export type ErrorCode =([^;]+);/.exec(code)?.[1] ?? '';
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
    expect(codes.length).toBeGreaterThan(10);
    const table = /^\| `extensions\.code` \|.*\n(?:\|.*\n)+/m.exec(readme)?.[0] ?? '';
    expect(codes.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
  });

  it('names no file that is not there', () => {
    const layout = fencedBlocks(readme).find(({ language }) => language === 'text');
    const named = [...(layout?.text.matchAll(/^(\S+)/gm) ?? [])].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(7);
    for (const path of named) expect(() => readFileSync(path), path).not.toThrow(/ENOENT/);
  });
});

describe('the examples of the README', () => {
  const examples = readmeExamples(readme);
  let sandbox: Sandbox;
  let world: World;

  beforeAll(async () => {
    sandbox = await startSandbox();
    // The limits that the examples were run under; the port is the machine's choice.
    world = await startWorld({
      on: sandbox,
      env: { PORT: '0', LINKS_RATE_LIMIT: '30', MARKET_RATE_LIMIT: '60' },
    });
  });
  afterAll(async () => {
    await world.close();
    await sandbox.close();
  });

  async function ask({ question }: ReadmeExample, url: string): Promise<unknown> {
    const { body, headers, path } =
      question.kind === 'graphql'
        ? {
            path: '/graphql',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ query: question.query }),
          }
        : { ...question.request, path: new URL(question.request.url).pathname };
    const method = body === undefined ? 'GET' : 'POST';
    const response = await fetch(`${url}${path}`, { method, headers, body: body ?? null });
    expect(response.status).toBe(200);
    return response.json();
  }

  it('are found at all, and have their answers with them', () => {
    expect(examples.length).toBeGreaterThanOrEqual(4);
    expect(examples.filter(({ answers }) => answers.length === 0)).toEqual([]);
  });

  it('get the answers that are shown, when they are asked one after the other', async () => {
    const { url } = await world.gateway.listen();
    for (const example of examples) {
      for (const shown of example.answers) {
        const answer = await ask(example, url);
        expect(answer, example.title).not.toHaveProperty('errors');
        expect(answer, example.title).toMatchObject(stable(shown));
      }
    }
  });
});

/** An answer with everything that differs from run to run replaced by what it is. */
function stable(shown: unknown): object {
  return JSON.parse(JSON.stringify(shown), (name, value: unknown) =>
    ['maxAgeMs', 'waitedMs'].includes(name) ? expect.any(Number) : value,
  ) as object;
}
