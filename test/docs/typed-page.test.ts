import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectToShow, servePage } from '../e2e/shown-page.ts';
import { type Door, openDoor } from '../support/door.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { pageAt } from '../support/readme.ts';
import { blocksOf, makeProject } from './support/typed-page.ts';

const WRITTEN_URL = 'http://localhost:4000';
const TADA = 'gql.tada/bin/cli.js';
const blocks = blocksOf('docs/frontend.md');
const block = (name: string): string => blocks.get(name) ?? `no block ${name}`;
const project = makeProject();
const sources = ['graphql.ts', 'App.tsx'];

let door: Door;
let page: Awaited<ReturnType<typeof servePage>>;
let html = '';

beforeAll(async () => {
  page = await servePage(() => html);
  // As on the sandbox that a gateway brings itself.
  door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true', CORS_ORIGINS: page.origin });
  for (const name of sources) {
    project.write(`src/${name}`, block(name).replaceAll(WRITTEN_URL, door.url));
  }
});

afterAll(() => {
  page.server.close();
  rmSync(project.folder, { recursive: true });
});

/** What a reader may write, what is not it, and what the compiler says of that. */
const mistakes = [
  ['{item.title}', '{item.titel}', "Property 'titel' does not exist"],
  ["=== 'QrItem' &&", "!== 'LinkItem' &&", "Property 'qrCode' does not exist"],
  ['{data.account?.username}', '{data.account.username}', "'data.account' is possibly 'null'"],
] as const;

/** Adds files with mistakes beside the right one, so that what reads the project reads it once; removes them again. */
async function withMistakes<T>(
  wrong: readonly (readonly [right: string, wrong: string])[],
  check: () => Promise<T>,
): Promise<T> {
  const files = wrong.map((replaced, nth) => {
    expect(block('App.tsx')).toContain(replaced[0]);
    project.write(`src/App${nth}.tsx`, block('App.tsx').replace(...replaced));
    return join(project.folder, `src/App${nth}.tsx`);
  });
  const checked = await check();
  for (const file of files) rmSync(file);
  return checked;
}

describe('the typed page of docs/frontend.md', () => {
  it('has the types of the graph: the compiler finds mistakes, and none in the page', async () => {
    const wrong = mistakes.map(([right, other]) => [right, other] as const);
    const { output, status } = await withMistakes(wrong, () => project.check());
    expect(status).not.toBe(0);
    const said = output.split(/^(?=src\/)/m);
    expect(said.filter((each) => !/^src\/App\d\.tsx/.test(each))).toEqual([]);
    for (const [nth, [, , message]] of mistakes.entries()) {
      const own = said.filter((each) => each.startsWith(`src/App${nth}.tsx`)).join('');
      expect(own).toContain(message);
    }
  });

  it('has no field misspelt: gql.tada finds one in another, and none in the page', async () => {
    const wrong = [['items(first: 2)', 'itms(first: 2)']] as const;
    const { status, output } = await withMistakes(wrong, () => project.run(TADA, 'check'));
    expect(status).not.toBe(0);
    expect(output.match(/Cannot query field/g)).toHaveLength(1);
    expect(output).toContain('Cannot query field "itms" on type "Channel"');
  });
});

describeWith(chromium, 'the typed page of docs/frontend.md in a browser', () => {
  it('shows what the page says, at its price', async () => {
    html = await project.bundle();
    await expectToShow(page.origin, block('page'));
    expect(door.calls()).toBe(6);
    expect(pageAt('docs/frontend.md')).toContain('The page has cost 6 upstream requests');
  });
});
