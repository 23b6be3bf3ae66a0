import { describe, expect, it } from 'vitest';
import type { ConsoleState, JobRow } from '../../src/console/console-state.ts';
import type { BusyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { tokenFile } from '../support/folder.ts';
import { ConsoleStage } from './console-stage.ts';

const stage = new ConsoleStage();

const tokens = tokenFile({ name: 'shop', role: 'editor' }, { name: 'crawler', role: 'editor' });
const withTokens = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: tokens, metrics: 'open' };

const as = (caller: string) => ({ authorization: `Bearer ${caller}` });

/** Starts an export of channels, and returns its id. */
async function startExport(busy: BusyGateway, caller: string, more = ''): Promise<string> {
  const query = `mutation { startExport(input: { query: "{ channels { nodes { name } } }" ${more} }) {
    ... on Job { id } ... on InvalidInput { message }
  } }`;
  const { data, errors } = await busy.ask(query, { headers: as(caller) });
  if (!data) throw new Error(JSON.stringify(errors));
  return (data as { startExport: { id: string } }).startExport.id;
}

/** The jobs in the console, once they are as expected. */
async function jobsOnce(
  { url }: BusyGateway,
  isSo: (rows: readonly JobRow[]) => boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<ConsoleState['jobs']> {
  for (let looks = 0; looks < 1000; looks += 1) {
    await stage.clock.advance(200);
    const { jobs } = await consoleState(url, headers);
    if (isSo(jobs.rows)) return jobs;
  }
  throw new Error('The console does not show it.');
}

const LATER = 'startAt: "2100-01-01T00:00:00Z"';

describe('the jobs in the console', () => {
  it('are those of all callers, first those that have not ended', async () => {
    const busy = await stage.start(withTokens);
    await startExport(busy, 'shop', LATER);
    await startExport(busy, 'crawler');
    const jobs = await jobsOnce(busy, (rows) => rows.some(({ state }) => state === 'DONE'));
    expect(jobs).toMatchObject({ total: 2, open: 1 });
    const metrics = await (await fetch(`${busy.url}/metrics`)).text();
    for (const state of ['queued', 'done'])
      expect(metrics).toContain(`gateway_jobs{state="${state}"} 1\n`);
    const { channels } = (await busy.ask('{ channels { totalCount } }', { headers: as('shop') }))
      .data as { channels: { totalCount: number } };
    expect(jobs.rows).toEqual([
      {
        id: expect.stringMatching(/^\d+$/),
        name: 'channels',
        caller: 'shop',
        state: 'QUEUED',
        rowsDone: 0,
        rowsTotal: null,
        calls: 0,
        callsLeft: null,
        readyAt: null,
        failures: 0,
        error: null,
      },
      {
        id: expect.stringMatching(/^\d+$/),
        name: 'channels',
        caller: 'crawler',
        state: 'DONE',
        rowsDone: channels.totalCount,
        rowsTotal: channels.totalCount,
        calls: 1,
        callsLeft: null,
        readyAt: null,
        failures: 0,
        error: null,
      },
    ]);
  });

  it('name no caller to a viewer who may not know names', async () => {
    const busy = await stage.start(withTokens);
    await startExport(busy, 'shop');
    const isDone = (rows: readonly JobRow[]) => rows[0]?.state === 'DONE';
    // A proxy forwards the request, so that it is not from this machine.
    const { rows } = await jobsOnce(busy, isDone, { 'x-forwarded-for': '203.0.113.7' });
    expect(rows.map(({ caller }) => caller)).not.toContain('shop');
    expect((await jobsOnce(busy, isDone)).rows[0]?.caller).toBe('shop');
  });

  it('are at most 50', async () => {
    const most = { jobsMax: '60', jobsMaxPerCaller: '60' };
    const busy = await stage.start({ ...withTokens, ...most });
    for (let count = 0; count < 51; count += 1) {
      await startExport(busy, 'shop', LATER);
      await stage.clock.advance(1);
    }
    const jobs = await jobsOnce(busy, () => true);
    expect(jobs).toMatchObject({ total: 51, open: 51 });
    expect(jobs.rows).toHaveLength(50);
  });
});
