import { expect, it } from 'vitest';
import { start } from '../support/process.ts';

/** What the space of new objects has come to in a busy gateway, in MiB. */
async function youngMib(options: readonly string[], env: Record<string, string> = {}) {
  const gateway = start(
    process.execPath,
    [...options, '--import', './test/e2e/young-objects.mjs', 'dist/main.js'],
    { cwd: '.', env: { PORT: '0', STATE_DIR: 'off', ...env } },
  );
  await gateway.says(/\/graphql/);
  gateway.child.kill('SIGUSR2');
  const [, mib] = await gateway.says(/young space ([\d.]+) MiB/);
  gateway.child.kill('SIGKILL');
  await gateway.ended;
  return Number(mib);
}

it('sets at most half of what V8 would aside for new objects', async () => {
  expect(await youngMib([])).toBeLessThan(16.5);
});

it('leaves that to an operator who has something to say of it', async () => {
  expect(await youngMib(['--max-semi-space-size=16'])).toBeCloseTo(32, 0);
  expect(await youngMib([], { NODE_OPTIONS: '--max_semi_space_size=2' })).toBeCloseTo(4, 0);
});
