import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema } from 'graphql';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openDoor } from '../support/door.ts';
import { WRITTEN_URL } from '../support/run-example.ts';
import { blocksOf, makeProject } from './support/typed-page.ts';

const text = blocksOf('docs/frontend.md').get('.graphqlrc.yml') ?? '';
const project = makeProject();
afterAll(() => rmSync(project.folder, { recursive: true }));

describe('the configuration of editors in docs/frontend.md', () => {
  it('names the schema in the package, and the files of the page', () => {
    const { documents, schema } = parse(text) as { documents: string; schema: string };
    expect(existsSync(join(project.folder, schema))).toBe(true);
    expect(documents).toMatch(/^src\/.*\btsx\b/);
  });

  it('names the address at which a gateway serves its schema, with directives', async () => {
    const [, path = ''] = new RegExp(`${WRITTEN_URL}(/\\S+)`).exec(text) ?? [];
    const door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
    const sdl = await (await fetch(`${door.url}${path}`)).text();
    await door.close();
    expect(buildSchema(sdl).getDirective('live')).toBeDefined();
  });
});
