import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { consoleState } from '../support/console-viewer.ts';
import { advice, RunbookStage, runbook } from './runbook-stage.ts';

const stage = new RunbookStage();

const creation = (name: string): string =>
  `mutation { createChannel(input: { name: "${name}" }) { __typename } }`;

async function named(name: string): Promise<number> {
  const { data } = await stage.ask('{ channels(last: 500) { nodes { name } } }');
  return JSON.stringify(data).split(JSON.stringify(name)).length - 1;
}

describe('the remedy for writes on the pages, followed literally,', () => {
  it('about GatewayOutcomeUnknown names the field to look at, where the write shows', async () => {
    await stage.start();
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    const { errors: found } = await stage.ask(creation('Lost and found'), { prefer: 'wait=0' });
    expect(found?.[0]?.extensions).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      check: 'Query.channels',
    });
    expect(await stage.errors('OUTCOME_UNKNOWN')).toBe(1);
    expect(runbook('GatewayOutcomeUnknown').says).toContain('in the lines "write outcome unknown"');
    expect(stage.log).toContain('"write outcome unknown"');
    expect(advice('OUTCOME_UNKNOWN')).toContain('extensions.check');
    expect(await named('Lost and found')).toBe(1);
  });

  it('about GatewayOutcomeUnknown finds the call of a user, whose retry with the same key makes nothing twice', async () => {
    await stage.start();
    await named('Lost and found');
    stage.sandbox.links.fault({ kind: 'drop', method: 'POST', applied: true, times: 1 });
    const headers = {
      'idempotency-key': '"once"',
      'x-request-id': 'of-the-user',
      prefer: 'wait=0',
    };
    const { errors: found } = await stage.ask(creation('Lost and found'), headers);
    const { page, says } = runbook('GatewayOutcomeUnknown');
    expect(says).toContain('a retry with the same key finds the change or makes it');
    expect(page).toContain('search *Events* in [the console](#the-console) for the request id');
    const events = async () =>
      (await consoleState(stage.url)).events
        .filter(({ requestIds }) => requestIds.includes('of-the-user'))
        .map(({ kind }) => kind);
    expect(await events()).toContain('outcome-unknown');
    await stage.clock.advance(Number(found?.[0]?.extensions['retryAfterMs']));
    expect((await stage.ask(creation('Lost and found'), headers)).errors).toBeUndefined();
    expect(stage.log).toContain('"write reconciled"');
    await stage.clock.advance(1000);
    expect(await events()).toContain('reconciled');
    expect(await named('Lost and found')).toBe(1);
  });

  it('about state-not-saved finds the reason of a folder that cannot be used in the log', async () => {
    const state = join(stage.folder, 'no-folder');
    writeFileSync(state, '');
    await stage.start({ STATE_DIR: state });
    expect(await stage.degraded()).toEqual([{ reason: 'state-not-saved' }]);
    expect(await stage.metric('gateway_state_save_failing')).toBe(1);
    expect(stage.log).toMatch(/STATE_DIR .*no-folder.store cannot be used \(ENOTDIR\)/);
    const keyed = { 'idempotency-key': '"one"' };
    expect((await stage.ask(creation('First'), keyed)).errors).toBeUndefined();
    await stage.start({ STATE_DIR: join(stage.folder, 'a-folder') });
    expect(await stage.degraded()).toEqual([]);
    await stage.start({ STATE_DIR: 'off' });
    expect(await stage.degraded()).toEqual([]);
  });
});
