import { beforeEach, describe, expect, it } from 'vitest';
import { arrival, type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { asTimePasses } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** More than the upstream needs to be asked again. */
const SETTLED_MS = 6000;
const LOST = { kind: 'drop', method: 'POST', applied: true, times: 1 } as const;

let clock: VirtualClock;
let busy: BusyGateway;
beforeEach(async () => {
  clock = new VirtualClock();
  busy = await busyGateway({ MAX_WAIT_MS: '120000' }, { clock });
});

/** Creates a channel for a caller who waits this long, in seconds; `null` is no key. */
async function create(name: string, key: string | null, wait = 0) {
  const mutation = `mutation Save { createChannel(input: { name: "${name}" }) { __typename } }`;
  const headers = {
    prefer: `wait=${wait}`,
    'x-request-id': `call-for-${name}`,
    ...(key === null ? {} : { 'idempotency-key': `"${key}"` }),
  };
  const asked = busy.ask(mutation, { headers });
  const { data, errors } = await (wait === 0 ? asked : asTimePasses(clock, asked));
  const created = data?.['createChannel'] as Record<string, string> | null | undefined;
  return errors?.[0]?.extensions?.['code'] ?? created?.['__typename'];
}

/** The metrics of writes that are not 0. */
async function metrics(): Promise<Record<string, number>> {
  const text = await (await fetch(`${busy.url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => /^gateway_(keyed|unkeyed|reconciliation|conflicts)_/.test(line));
  const samples = lines.map((line) => {
    const [, family = '', labels = '', value] =
      /^gateway_(\w+?)(?:\{(.*)\})? (\d+)$/.exec(line) ?? [];
    return [
      `${family} ${/outcome="(\w+)"/.exec(labels)?.[1] ?? ''}`.trim(),
      Number(value),
    ] as const;
  });
  return Object.fromEntries(samples.filter(([, value]) => value > 0));
}

async function keys(): Promise<Record<string, number>> {
  const text = await (await fetch(`${busy.url}/metrics`)).text();
  return Object.fromEntries(
    [...text.matchAll(/^gateway_idempotency_keys\{state="(\w+)"\} (\d+)$/gm)].map(
      ([, state = '', count]) => [state, Number(count)],
    ),
  );
}

const lines = () => busy.lines().filter(({ msg }) => String(msg).startsWith('write '));
const look = async () => {
  await clock.advance(1000);
  return (await consoleState(busy.url)).events;
};

describe('A write with an idempotency key', () => {
  it('is counted by its end, and leaves no line besides that of its operation', async () => {
    const names = ['executed', 'replayed', 'reused', 'rejected'];
    expect(await create('Spring', 'one')).toBe('Channel');
    expect(await create('Spring', 'one')).toBe('Channel');
    expect(await create('Summer', 'one')).toBe('IDEMPOTENCY_KEY_REUSED');
    busy.sandbox.links.fault({
      kind: 'answer',
      method: 'POST',
      times: 1,
      rewrite: (answer) => ({ ...answer, body: { error: 1, message: 'No more channels.' } }),
    });
    expect(await create('Autumn', 'two')).toBe('Rejected');
    expect(await metrics()).toEqual(
      Object.fromEntries(names.map((name) => [`keyed_writes_total ${name}`, 1])),
    );
    expect(await keys()).toEqual({ in_progress: 0, ambiguous: 0, stored: 2 });
    expect(lines()).toEqual([]);
    expect(await look()).toContainEqual(
      expect.objectContaining({ text: 'Idempotency key reused: createChannel' }),
    );
  });

  it('is in progress while its request is, and its key in use for others', async () => {
    let open = (): void => {};
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    busy.sandbox.links.fault({ kind: 'hold', until, method: 'POST', times: 1 });
    const first = create('Spring', 'one');
    await arrival(busy.sandbox.links);
    expect(await create('Spring', 'one', 1)).toBe('IDEMPOTENCY_KEY_IN_USE');
    expect(await keys()).toEqual({ in_progress: 1, ambiguous: 0, stored: 0 });
    open();
    expect(await first).toBe('Channel');
    expect(await keys()).toEqual({ in_progress: 0, ambiguous: 0, stored: 1 });
    expect(await metrics()).toEqual({
      'keyed_writes_total conflict_in_use': 1,
      'keyed_writes_total executed': 1,
    });
  });
});

describe('A write whose response was lost', () => {
  // Channels have no date: a new one is recognized by the rows that were known before.
  beforeEach(async () => {
    await busy.ask('{ channels(first: 500) { nodes { id } } }');
  });

  it('is unknown until a retry finds it, which the console shows with all that a caller knows', async () => {
    busy.sandbox.links.fault(LOST);
    expect(await create('Spring', 'my-secret-key')).toBe('OUTCOME_UNKNOWN');
    expect(await keys()).toEqual({ in_progress: 0, ambiguous: 1, stored: 0 });
    const unknown = (await look()).find(({ kind }) => kind === 'outcome-unknown');
    expect(unknown).toMatchObject({
      text: 'Outcome unknown: createChannel',
      cause: expect.stringMatching(/^key [\w-]{8}$/),
      callers: [{ caller: '127.0.0.1' }],
      requestIds: ['call-for-Spring'],
    });
    await clock.advance(SETTLED_MS);
    expect(await create('Spring', 'my-secret-key', 60)).toBe('Channel');
    expect((await look())[0]).toMatchObject({ text: 'Reconciled createChannel' });
    expect(await metrics()).toEqual({
      'keyed_writes_total unknown': 1,
      'keyed_writes_total reconciled': 1,
      reconciliation_reads_total: 1,
    });
    expect(lines()).toMatchObject([
      { msg: 'write outcome unknown', level: 'warn', requestId: 'call-for-Spring' },
      { msg: 'write reconciled', level: 'info', mutation: 'createChannel', reads: 1 },
    ]);
    expect(busy.log()).not.toMatch(/my-secret-key|"Spring"/);
  });

  it('is counted apart without a key', async () => {
    busy.sandbox.links.fault(LOST);
    expect(await create('Summer', null, 60)).toBe('Channel');
    busy.sandbox.links.fault(LOST);
    expect(await create('Spring', null)).toBe('OUTCOME_UNKNOWN');
    expect(await metrics()).toEqual({
      'unkeyed_lost_writes_total unknown': 1,
      'unkeyed_lost_writes_total reconciled': 1,
      reconciliation_reads_total: 1,
    });
    expect(await look()).toContainEqual(
      expect.objectContaining({ kind: 'outcome-unknown', cause: 'no key' }),
    );
  });
});

describe('An update that is not sent because of its expectation', () => {
  it('is counted as a conflict', async () => {
    const update = (name: string) =>
      busy.ask(
        `mutation { updateChannel(input: { id: "21", description: "New" }, expected: { name: "${name}" }) { __typename } }`,
      );
    const { data } = await busy.ask('{ channel(id: 21) { name } }');
    const channel = data?.['channel'] as Record<string, string> | undefined;
    const name = channel?.['name'] ?? '';
    expect((await update(`not ${name}`)).data).toEqual({
      updateChannel: { __typename: 'Conflict' },
    });
    expect((await update(name)).data).toEqual({ updateChannel: { __typename: 'Channel' } });
    expect(await metrics()).toEqual({ conflicts_total: 1 });
  });
});
