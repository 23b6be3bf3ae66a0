import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { commandOf } from '../support/dockerfile.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';

/** What the space of new objects has come to in a busy gateway, in MiB. */
async function youngMib(options: readonly string[], env: Record<string, string> = {}) {
  const gateway = start(
    process.execPath,
    [...options, '--import', './test/e2e/young-objects.mjs', ...GATEWAY],
    { cwd: '.', env: { PORT: '0', STATE_DIR: 'off', ...env } },
  );
  await gateway.says(/\/graphql/);
  gateway.child.kill('SIGUSR2');
  const [, mib] = await gateway.says(/young space ([\d.]+) MiB/);
  gateway.child.kill('SIGKILL');
  await gateway.ended;
  return Number(mib);
}

/** From Node 24 on, V8 shrinks the space in steps, and what it sets aside is less than the limit by up to a MiB. */
const major = Number.parseInt(process.versions.node, 10);
const isNewer = major >= 24;
/** From Node 26 on, V8 also makes it smaller where few objects live on, and reaches the limit on an idle machine alone. */
const unlimitedMib = major >= 26 ? 18 : isNewer ? 30 : 31.5;

it('sets at most half of what V8 would aside for new objects', async () => {
  expect(await youngMib([])).toBeLessThan(isNewer ? 24 : 16.5);
});

it('respects the setting of an operator', async () => {
  const unlimited = await youngMib(['--max-semi-space-size=16']);
  expect(unlimited).toBeLessThan(32.5);
  expect(unlimited).toBeGreaterThan(unlimitedMib);
  const small = await youngMib([], { NODE_OPTIONS: '--max_semi_space_size=2' });
  expect(small).toBeLessThan(isNewer ? 10 : 4.5);
  expect(small).toBeGreaterThan(isNewer ? 3 : 3.5);
});

/** A gateway that says what is compiled of the parser of HTTP, after a dashboard of 26 requests. */
async function parsing(options: readonly string[]): Promise<Running> {
  const args = ['--trace-wasm-compilation-times', ...options, ...GATEWAY];
  const env = { PORT: '0', STATE_DIR: 'off', OPERATION_MAX_CALLS: '30' };
  const gateway = start(process.execPath, args, { cwd: '.', env });
  const [, url = ''] = await gateway.says(/(http:\S+)\/graphql/);
  const query = '{ account { username } channels { nodes { items { totalCount } } } }';
  const reply = await fetch(`${url}/graphql?query=${encodeURIComponent(query)}`);
  expect(await reply.json()).not.toHaveProperty('errors');
  return gateway;
}

it('has no parser of HTTP compiled a second time, which takes longer than a dashboard', async () => {
  const gateway = await parsing([]);
  gateway.child.kill('SIGTERM');
  await gateway.ended;
  expect(gateway.output()).toContain('using Liftoff');
  expect(gateway.output()).not.toContain('using TurboFan');
});

it('respects that setting of an operator too', async () => {
  const gateway = await parsing(['--wasm-tiering-budget=1000']);
  await gateway.says(/using TurboFan/);
  gateway.child.kill('SIGKILL');
});

it('the image starts with what `npm start` starts', () => {
  const [, command = ''] = /^ENTRYPOINT (.*)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  expect(commandOf(command)).toEqual(['node', ...GATEWAY]);
});

it('collects what is left of an upload every 4 MiB, among young objects alone', async () => {
  const env = { PORT: '0', STATE_DIR: 'off' };
  const gateway = start(process.execPath, ['--trace-gc', ...GATEWAY], { cwd: '.', env });
  const [, url = ''] = await gateway.says(/(http:\S+)\/graphql/);
  const body = Buffer.alloc(22 * 1024 * 1024);
  const reply = await fetch(`${url}/files/large.bin`, { method: 'PUT', body });
  expect(reply.status).toBe(201);
  gateway.child.kill('SIGTERM');
  await gateway.ended;
  const collections = gateway.output().match(/(?:Scavenge|Mark-Compact).* testing;.*/g) ?? [];
  expect(collections).toHaveLength(5);
  // A marking of old objects that is under way is brought to its end, from Node 24 on.
  const others = collections.filter((each) => !each.startsWith('Scavenge'));
  expect(others.filter((each) => !each.includes('forced finalization'))).toEqual([]);
});
