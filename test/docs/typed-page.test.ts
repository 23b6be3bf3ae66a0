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

afterAll(async () => {
  page.server.close();
  await door.close();
  rmSync(project.folder, { recursive: true });
});

describe('the typed page of docs/frontend.md', () => {
  it('has the types of the graph, and none of its fields misspelt', async () => {
    expect(await project.check()).toEqual({ status: 0, output: '' });
    expect((await project.run(TADA, 'check')).status).toBe(0);
  });

  describe('is told by the compiler', () => {
    /** What a reader may write, what is not it, and what the compiler says of that. */
    const mistakes = [
      ['{item.title}', '{item.titel}', "Property 'titel' does not exist"],
      ["=== 'QrItem' &&", "!== 'LinkItem' &&", "Property 'qrCode' does not exist"],
      ['{data.account?.username}', '{data.account.username}', "'data.account' is possibly 'null'"],
    ] as const;
    let compiled: Awaited<ReturnType<typeof project.check>>;
    // Each in a file of its own beside the right one: the compiler reads its libraries once for all of them.
    beforeAll(async () => {
      const files = mistakes.map(([right, wrong], nth) => {
        project.write(`src/App${nth}.tsx`, block('App.tsx').replace(right, wrong));
        return join(project.folder, `src/App${nth}.tsx`);
      });
      compiled = await project.check();
      for (const file of files) rmSync(file);
    });

    it.each(mistakes.map((each, nth) => [...each, nth] as const))(
      'that %s is right and %s is not',
      (right, _wrong, message, nth) => {
        expect(block('App.tsx')).toContain(right);
        const { output, status } = compiled;
        expect(status).not.toBe(0);
        const said = output.split(/^(?=src\/)/m);
        expect(said.filter((each) => each.startsWith('src/App.tsx'))).toEqual([]);
        expect(said.filter((each) => each.startsWith(`src/App${nth}.tsx`)).join('')).toContain(
          message,
        );
      },
    );
  });

  it('is told by gql.tada of a field that the query misspells', async () => {
    project.write('src/App.tsx', block('App.tsx').replace('items(first: 2)', 'itms(first: 2)'));
    const { status, output } = await project.run(TADA, 'check');
    project.write('src/App.tsx', block('App.tsx').replaceAll(WRITTEN_URL, door.url));
    expect(status).not.toBe(0);
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
