import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Store } from '../../src/store/store.ts';
import { tempFolder, tokenFile } from '../support/folder.ts';
import { openSandbox, startWorld, type World } from '../support/gateway.ts';
import { openFolder } from '../support/store.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DAY_MS = 86_400_000;
const HOME = 'query Home { account { username } }';
const PIXELS = 'query Pixels { pixels(first: 1) { nodes { id } } }';
const DOMAINS = 'query Domains { domains(first: 1) { nodes { id } } }';

interface UsageShown {
  readonly calls: number;
  readonly saved: number;
  readonly totalCount: number;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

let sandbox: Sandbox;
let folder: string;
let tokens: string;
let clock: VirtualClock;

beforeEach(async () => {
  clock = new VirtualClock();
  sandbox = await openSandbox();
  folder = tempFolder();
  tokens = tokenFile(
    { name: 'boss', role: 'admin' },
    { name: 'web', role: 'viewer' },
    { name: 'crawler', role: 'viewer', class: 'agent' },
  );
});

/** A process on the folder. */
async function start(
  env: Readonly<Record<string, string>> = {},
): Promise<World & { readonly store: Store; readonly log: () => string }> {
  const store = await openFolder(join(folder, 'store'), clock);
  let log = '';
  const world = await startWorld({
    on: sandbox,
    clock,
    store,
    log: { write: (line) => void (log += line) },
    env: {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: tokens,
      CALLER_CLASSES: '{"agent":{}}',
      shutdownGraceMs: '0',
      ...env,
    },
  });
  return { ...world, store, log: () => log };
}

/** The keys of the store, and its values. */
async function saved(store: Store): Promise<[string, string][]> {
  const rows: [string, string][] = [];
  for await (const [key, value] of store.read({ from: 'usage/', to: 'usage0' })) {
    rows.push([key, value.toString()]);
  }
  return rows;
}

const as = (name: string) => ({ authorization: `Bearer ${name}` });

async function usage(world: World, selection: string, name = 'boss'): Promise<UsageShown> {
  const { data, errors } = await world.ask<{ usage: UsageShown }>(
    `{ usage${selection} }`,
    undefined,
    as(name),
  );
  expect(errors).toEqual([]);
  return data.usage;
}

describe('Query.usage', () => {
  it('counts requests for the caller that causes them, and what others saved', async () => {
    const world = await start();
    await world.ask(HOME, undefined, as('web'));
    await world.ask(HOME, undefined, as('crawler'));
    await world.ask(DOMAINS, undefined, as('crawler'));
    const rows =
      'calls saved rows { caller callerClass operation resource upstream day calls saved }';
    const today = new Date(clock.wall()).toISOString().slice(0, 10);
    const none = { day: null, upstream: null };
    expect(await usage(world, `(by: [CALLER, CLASS, OPERATION, RESOURCE]) { ${rows} }`)).toEqual({
      calls: 2,
      saved: 1,
      rows: [
        {
          ...none,
          caller: 'web',
          callerClass: 'default',
          operation: 'Home',
          resource: 'account',
          calls: 1,
          saved: 0,
        },
        {
          ...none,
          caller: 'crawler',
          callerClass: 'agent',
          operation: 'Domains',
          resource: 'domains',
          calls: 1,
          saved: 0,
        },
        {
          ...none,
          caller: 'crawler',
          callerClass: 'agent',
          operation: 'Home',
          resource: 'account',
          calls: 0,
          saved: 1,
        },
      ],
    });
    const byDay = await usage(
      world,
      `(by: [DAY, UPSTREAM]) { rows { day upstream caller calls } }`,
    );
    expect(byDay.rows).toEqual([{ day: today, upstream: 'LINKS', caller: null, calls: 2 }]);
    expect(
      (await usage(world, '(by: []) { totalCount rows(first: 0) { calls } }')).totalCount,
    ).toBe(1);
  });

  it('counts what is sent, not what is asked', async () => {
    const world = await start({ LINKS_RATE_LIMIT: '2', OPERATION_MAX_CALLS: '2' });
    sandbox.links.fault({ kind: 'error-500' });
    await world.ask(HOME, undefined, { ...as('web'), prefer: 'wait=0' });
    sandbox.links.clearFaults();
    await world.ask(DOMAINS, undefined, { ...as('web'), prefer: 'wait=0' });
    const { calls } = await usage(world, '(by: []) { calls }');
    expect(calls).toBe(world.calls().length);
    expect(calls).toBeGreaterThan(0);
  });

  it('does not count a request that could not leave', async () => {
    const world = await start({ LINKS_BASE_URL: 'http://127.0.0.1:1' });
    const { errors } = await world.ask(HOME, undefined, as('web'));
    expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_UNAVAILABLE' } }]);
    expect(await usage(world, '{ calls rows { caller } }')).toEqual({ calls: 0, rows: [] });
    expect(await saved(world.store)).toEqual([]);
  });

  it('is for administrators, and names no others where callers have no roles', async () => {
    const world = await start();
    const { errors } = await world.ask('{ usage { calls } }', undefined, as('web'));
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    const open = await startWorld({
      on: sandbox,
      env: { AUTH_MODE: 'passthrough', LINKS_API_KEY: '' },
    });
    onTestFinished(() => open.close());
    await open.ask(HOME, undefined, as(sandbox.links.key));
    const own = await open.ask<{ usage: UsageShown }>(
      '{ usage { calls rows { caller calls } } }',
      undefined,
      as(sandbox.links.key),
    );
    expect(own.data.usage.calls).toBe(1);
    expect(own.data.usage.rows[0]?.['caller']).toMatch(/^key-/);
    const other = await open.ask<{ usage: UsageShown }>(
      '{ usage { calls rows { caller } } }',
      undefined,
      as('other'),
    );
    expect(other.data.usage).toEqual({ calls: 0, rows: [] });
  });

  it('refuses periods and pages that cannot be, and is null if it is disabled', async () => {
    const world = await start();
    const refusal = async (selection: string) => {
      const { errors } = await world.ask(`{ usage${selection} }`, undefined, as('boss'));
      return errors[0]?.message;
    };
    expect(await refusal('(from: "2030-01-02", to: "2030-01-01") { calls }')).toBe(
      '"from" must not be after "to".',
    );
    expect(await refusal('(from: "1999-01-01", to: "2030-12-31") { calls }')).toBe(
      '"from" and "to" must not be more than 400 days apart.',
    );
    expect(await refusal('{ rows(first: 4000000) { calls } }')).toBe(
      '"first" must be from 0 to 1000, not 4000000.',
    );
  });
});

describe('The usage in the store', () => {
  it('survives a restart to the request, without keys, and with what was avoided', async () => {
    const first = await start();
    await first.ask(HOME, undefined, as('web'));
    await first.ask(DOMAINS, undefined, as('web'));
    for (let times = 0; times < 5; times += 1) await first.ask(HOME, undefined, as('boss'));
    await first.close();
    const second = await start();
    await second.ask(PIXELS, undefined, as('crawler'));
    await second.close();
    const third = await start();
    expect(await usage(third, '{ calls saved rows { caller calls } }')).toEqual({
      calls: 3,
      saved: 5,
      rows: [
        { caller: 'web', calls: 2 },
        { caller: 'crawler', calls: 1 },
        { caller: 'boss', calls: 0 },
      ],
    });
    expect(JSON.stringify(await saved(third.store))).not.toContain(sandbox.links.key);
  });

  it('has rows of each day, of which old ones are removed', async () => {
    const world = await start();
    await world.ask(HOME, undefined, as('web'));
    clock.jumpWall(DAY_MS);
    await world.ask(DOMAINS, undefined, as('web'));
    clock.jumpWall(DAY_MS);
    await world.ask(PIXELS, undefined, as('web'));
    const from = new Date(clock.wall() - 3 * DAY_MS).toISOString().slice(0, 10);
    const shown = await usage(world, `(from: "${from}", by: [DAY]) { calls rows { day calls } }`);
    expect(shown.rows.map(({ calls }) => calls)).toEqual([1, 1, 1]);
    expect(await saved(world.store)).toHaveLength(3);
    clock.jumpWall(400 * DAY_MS);
    await world.ask('{ channels(first: 1) { nodes { id } } }', undefined, as('web'));
    expect(await saved(world.store)).toHaveLength(1);
  });

  it('says once that a value is damaged, and has all others', async () => {
    const first = await start();
    await first.ask(HOME, undefined, as('web'));
    await first.ask(DOMAINS, undefined, as('crawler'));
    const [[key] = ['']] = await saved(first.store);
    await first.close();
    const store = await openFolder(join(folder, 'store'), clock);
    store.put(key, '["LINKS","acc');
    await store.close();
    const second = await start();
    expect((await usage(second, '{ rows { caller calls } }')).rows).toEqual([
      { caller: 'crawler', calls: 1 },
    ]);
    expect(second.log().match(/A part of the usage of 2030-01-01 cannot be read/g)).toHaveLength(1);
  });
});
