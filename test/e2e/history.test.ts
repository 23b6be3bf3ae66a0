import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/scheduling/clock.ts';
import { ModelAccounts } from '../series/model-accounts.ts';
import { tempFolder } from '../support/folder.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';
import { until } from '../support/uploads.ts';

let model: ModelAccounts;
let folder: string;
const running: Running[] = [];
beforeEach(async () => {
  model = await ModelAccounts.start(systemClock);
  folder = tempFolder();
});
afterEach(async () => {
  for (const each of running.splice(0)) {
    each.child.kill('SIGKILL');
    await each.ended;
  }
  await model[Symbol.asyncDispose]();
});

const NO_CACHE = {
  CACHE_MAX_BYTES: '1',
  STALE_IF_ERROR_MS: '0',
};

/** A gateway in a process of its own. */
async function begin() {
  const process = start(globalThis.process.execPath, GATEWAY, {
    cwd: '.',
    env: { ...model.env, ...NO_CACHE, PORT: '0', STATE_DIR: folder },
  });
  running.push(process);
  const [, address = ''] = await process.says(/(http:\/\/localhost:\d+)\/graphql/);
  const data = async <D>(query: string): Promise<D> => {
    const response = await fetch(`${address}/graphql?query=${encodeURIComponent(query)}`);
    return ((await response.json()) as { data: D }).data;
  };
  const lengths = async (): Promise<(number | null)[]> => {
    const query = '{ totalCountHistory(list: QR_CODES, step: HOUR, last: 2) { value } }';
    const { totalCountHistory } = await data<{ totalCountHistory: { value: number | null }[] }>(
      query,
    );
    return totalCountHistory.map(({ value }) => value);
  };
  return { ...process, data, lengths };
}

function codes(count: number): void {
  model.qrCodes = Array.from({ length: count }, (_, index) => ({ id: index + 1, count: index }));
}

describe('The history of counts', () => {
  it('has all that was received before the last request left, also after a kill', async () => {
    for (const count of [3, 5, 8]) {
      const gateway = await begin();
      expect((await gateway.lengths()).at(-1)).toBe(count === 3 ? null : count === 5 ? 3 : 5);
      codes(count);
      await gateway.data('{ qrCodes { totalCount } }');
      await gateway.data('{ files { totalCount } }');
      gateway.child.kill('SIGKILL');
      await gateway.ended;
    }
    expect((await (await begin()).lengths()).at(-1)).toBe(8);
    expect(model.requests).toHaveLength(6);
  });
});

describe('Usage', () => {
  it('has each request that has left, also if the process was killed when it arrived', async () => {
    for (let round = 1; round <= 4; round += 1) {
      const gateway = await begin();
      await gateway.data('{ qrCodes { totalCount } }');
      const answer = gateway.data('{ files { totalCount } }').catch(() => null);
      await until(() => model.requests.length === 2 * round);
      gateway.child.kill('SIGKILL');
      await gateway.ended;
      await answer;
    }
    const { usage } = await (await begin()).data<{ usage: object }>('{ usage(by: []) { calls } }');
    expect(usage).toEqual({ calls: 8 });
  });
});
