import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { start } from '../support/process.ts';
import { blocksOf, makeProject } from './support/typed-page.ts';

const project = makeProject();
project.write('changes.js', blocksOf('docs/jobs.md').get('changes.js') ?? '');

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});
afterAll(() => {
  rmSync(project.folder, { recursive: true });
});

async function run(): Promise<readonly string[]> {
  const args = [join(project.folder, 'changes.js'), `${door.url}/graphql`, 'lines.jsonl'];
  const running = start(process.execPath, args, { cwd: project.folder, env: {} });
  expect(await running.ended, running.output()).toBe(0);
  return running.output().trimEnd().split('\n');
}

async function channels() {
  const { data } = await door.ask('{ channels(first: 3) { nodes { id name } } }');
  return (data as { channels: { nodes: { id: string; name: string }[] } }).channels.nodes;
}

it('the script of docs/jobs.md executes each line once, in as many runs as it needs', async () => {
  const lines = (await channels()).map(({ id }, at) => ({ id, name: `renamed ${at}` }));
  project.write('lines.jsonl', lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const writes = () => door.sandbox.links.requests.filter(({ method }) => method !== 'GET').length;
  for (let times = 0; times < 2; times += 1) {
    const results = await run();
    expect(results).toHaveLength(lines.length);
    for (const result of results) expect(result).toContain('{"__typename":"Channel"}');
    expect(await channels()).toEqual(lines.map((line) => expect.objectContaining(line)));
    expect(writes()).toBe(lines.length);
  }
});
