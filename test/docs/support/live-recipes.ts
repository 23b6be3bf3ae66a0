import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { tempFolder } from '../../support/folder.ts';
import { fencedBlocks, pageAt } from '../../support/readme.ts';
import { PACKAGES } from './typed-page.ts';

/** The blocks of docs/live.md that have a name, by it. */
export const liveBlocks: ReadonlyMap<string, string> = new Map(
  fencedBlocks(pageAt('docs/live.md')).flatMap(({ file, text }) =>
    file === null ? [] : [[file, text]],
  ),
);

/** What the queries of the tests below ask for. */
export interface Campaigns {
  readonly campaigns: { readonly nodes: readonly { readonly id: string; readonly name: string }[] };
}

const SELECTION = '{ campaigns(first: 2) { nodes { id name } } }';
/** The names of two campaigns: kept current, and asked for once. */
export const LIVE = `query Campaigns @live ${SELECTION}`;
export const ONCE = `query Once ${SELECTION}`;
/** A query that no schema has. */
export const WRONG = 'query Wrong @live { campaigns(first: 2) { nodes { nome } } }';

/** The name of the newest campaign in an answer. */
export function firstName(data: unknown): string | undefined {
  return (data as Campaigns | null | undefined)?.campaigns.nodes[0]?.name;
}

/** Comes back once something is so. */
export function until(look: () => unknown, value: unknown): Promise<void> {
  return expect.poll(look, { interval: 5 }).toEqual(value);
}

/** Where recipes are tried: a folder that a reader has put them in, and a gateway for each test. */
export interface RecipeStage {
  readonly folder: string;
  /** Names of all recipes. */
  readonly names: readonly string[];
  readonly door: Door;
  /** Where the gateway answers GraphQL. */
  readonly url: string;
  /** Called at the end of the test, before the gateway closes. */
  readonly ends: (() => unknown)[];
  /** Loads a recipe as it stands on the page. */
  readonly load: <Module>(name: string) => Promise<Module>;
  /** Somebody else gives the newest campaign another name. */
  readonly rename: (name: string) => Promise<void>;
  /** How many streams the gateway has open. */
  readonly streams: () => Promise<number>;
}

/** Sets it up for the tests of a file. */
export function recipeStage(): RecipeStage {
  const folder = tempFolder();
  symlinkSync(PACKAGES, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const names = [...liveBlocks.keys()].filter((name) => name.endsWith('.ts'));
  for (const name of names) writeFileSync(join(folder, name), liveBlocks.get(name) ?? '');

  let door: Door;
  const ends: (() => unknown)[] = [];
  beforeEach(async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
  });
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });
  return {
    folder,
    names,
    ends,
    get door() {
      return door;
    },
    get url() {
      return `${door.url}/graphql`;
    },
    load: (name) => import(/* @vite-ignore */ join(folder, name)),
    async rename(name) {
      const { errors } = await door.ask(
        `mutation { updateCampaign(input: { id: 53, name: "${name}" }) { __typename } }`,
      );
      expect(errors).toEqual([]);
    },
    async streams() {
      const { text } = await door.send('/metrics');
      return Number(/^gateway_live_streams (\d+)$/m.exec(text)?.[1]);
    },
  };
}
