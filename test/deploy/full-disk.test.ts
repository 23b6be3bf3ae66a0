import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { describeWith, prlimit } from '../support/needs.ts';
import { until } from '../support/uploads.ts';
import { RunbookStage, runbook } from './runbook-stage.ts';

const stage = new RunbookStage();

/** Lets this process extend no file beyond a size in bytes, as if its disk were full. */
function limitFiles(size: number | 'unlimited'): void {
  execFileSync(prlimit.path, ['--pid', String(process.pid), `--fsize=${size}:`]);
}
afterEach(() => limitFiles('unlimited'));

/** Creates a channel once, with its name as the key. Returns whether the gateway has sent a request. */
async function creates(name: string): Promise<boolean> {
  const { length } = stage.sandbox.links.requests;
  const text = `mutation { createChannel(input: { name: "${name}" }) { __typename } }`;
  const { data } = await stage.ask(text, { 'idempotency-key': `"${name}"` });
  expect(data).toEqual({ createChannel: { __typename: 'Channel' } });
  return stage.sandbox.links.requests.length > length;
}
const isFailing = () => stage.metric('gateway_state_save_failing');

describeWith(prlimit, 'A full disk', () => {
  it('stops no write, and all keys are saved as soon as it has space', async () => {
    await stage.start({ STATE_DIR: join(stage.folder, 'state') });
    expect(await creates('before')).toBe(true);
    expect(await isFailing()).toBe(0);

    limitFiles(1);
    expect(await creates('meanwhile')).toBe(true);
    expect(await creates('meanwhile')).toBe(false);
    expect(await isFailing()).toBe(1);
    expect(await stage.degraded()).toEqual([{ reason: 'state-not-saved' }]);
    expect(stage.log).toMatch(/STATE_DIR .* cannot be used/);

    limitFiles('unlimited');
    expect(runbook('GatewayStateUnsaved').says).toContain('all is saved within a second');
    await stage.clock.advance(1000);
    await until(async () => (await isFailing()) === 0);
    expect(await stage.degraded()).toEqual([]);

    await stage.start();
    for (const name of ['before', 'meanwhile']) expect(await creates(name)).toBe(false);
  });
});
