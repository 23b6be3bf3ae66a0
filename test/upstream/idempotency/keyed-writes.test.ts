import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { createChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

const ADD = '/api/channel/add';
/** A write that leaves no evidence. */
const summer = { ...createChannel({ name: 'Summer' }), evidence: null };

let sandbox: Sandbox;
let process: KeyedProcess;
let key: string;

beforeEach(async () => {
  sandbox = await keyedSandbox();
  process = await KeyedProcess.start(sandbox);
  key = newKey();
});

/** A promise, and the function that fulfills it. */
function gate(): { readonly until: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const until = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { until, open };
}

const codeOf = (value: unknown): unknown => (value instanceof GatewayError ? value.code : value);

describe('a write with a key', () => {
  it('is refused with another content, also while the first is under way', async () => {
    const { open, until } = gate();
    sandbox.links.fault({ kind: 'hold', until, path: ADD, times: 1 });
    const first = process.call({ key }).links.write(summer);
    await process.clock.settle();
    const other = process.call({ key, content: 'other' }).links.write(summer);
    expect(codeOf(await outcome(other))).toBe('IDEMPOTENCY_KEY_REUSED');
    open();
    await first;
    const third = process.call({ key, mutation: 'createPixel' }).links.write(summer);
    expect(codeOf(await outcome(third))).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(received(sandbox)).toHaveLength(1);
  });

  it('goes on when its caller leaves after the request was sent', async () => {
    const { open, until } = gate();
    sandbox.links.fault({ kind: 'hold', until, path: ADD, times: 1 });
    const hangUp = new AbortController();
    const first = outcome(process.call({ key, signal: hangUp.signal }).links.write(summer));
    await process.clock.settle();
    hangUp.abort();
    await first;
    const second = process.call({ key });
    const made = second.links.write(summer);
    await process.clock.settle();
    open();
    expect(await made).toMatchObject({ name: 'Summer' });
    expect(second.report?.outcome).toBe('REPLAYED');
    expect(received(sandbox)).toHaveLength(1);
  });

  it('is not sent when its caller leaves before, and the next caller sends it', async () => {
    const { open, until } = gate();
    const limited = await KeyedProcess.start(sandbox, { rateLimit: 1 });
    sandbox.links.fault({ kind: 'hold', until, path: ADD, times: 1 });
    const other = limited.call().links.write(createChannel({ name: 'Other' }));
    const hangUp = new AbortController();
    const waiting = { maxWaitMs: 120_000 };
    const first = outcome(
      limited.call({ key, signal: hangUp.signal, ...waiting }).links.write(summer),
    );
    await limited.clock.settle();
    const second = limited.call({ key, ...waiting });
    const made = second.links.write(summer);
    await limited.clock.settle();
    hangUp.abort();
    await first;
    open();
    await other;
    await limited.clock.advance(61_000);
    expect(await made).toMatchObject({ name: 'Summer' });
    expect(second.report?.outcome).toBe('EXECUTED');
    expect(received(sandbox)).toHaveLength(2);
  });

  it('does not use its key up when the rate limit refuses it', async () => {
    sandbox.links.fault({ kind: 'refuse-429', path: ADD, times: 1, retryAfter: 30 });
    const refused = outcome(process.call({ key, maxWaitMs: 1000 }).links.write(summer));
    await process.clock.advance(1000);
    expect(codeOf(await refused)).toBe('BUDGET_EXHAUSTED');
    await process.clock.advance(30_000);
    const second = process.call({ key });
    await second.links.write(summer);
    expect(second.report?.outcome).toBe('EXECUTED');
    expect(process.records.gauges).toMatchObject({ inProgress: 0, ambiguous: 0, stored: 1 });
  });
});
