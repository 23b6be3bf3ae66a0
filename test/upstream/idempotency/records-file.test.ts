import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { createChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

const ADD = '/api/channel/add';
const DAY = 86_400_000;
/** A write that leaves no evidence. */
const summer = { ...createChannel({ name: 'Summer' }), evidence: null };

let sandbox: Sandbox;
let folder: string;
let file: string;
let key: string;

beforeEach(async () => {
  sandbox = await keyedSandbox();
  folder = mkdtempSync(join(tmpdir(), 'records-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, 'writes.log');
  key = newKey();
});

/** A process on the folder. The one before it was killed: nothing of it was closed. */
function start(more: ConstructorParameters<typeof KeyedProcess>[1] = {}): KeyedProcess {
  return new KeyedProcess(sandbox, { folder, ...more });
}

const codeOf = (value: unknown): unknown => (value instanceof GatewayError ? value.code : value);

/** Leaves a key whose request was sent by a process that was killed then. */
async function killAfterSend(process = start()): Promise<void> {
  sandbox.links.fault({ kind: 'hang', path: ADD, times: 1 });
  process
    .call({ key })
    .links.write(summer)
    .catch(() => {});
  await expect.poll(() => received(sandbox).length).toBe(1);
}

describe('the records in STATE_DIR', () => {
  it('replay an outcome in the next process without a request', async () => {
    const made = await start().call({ key }).links.write(summer);
    const next = start();
    const again = next.call({ key });
    expect(await again.links.write(summer)).toEqual(made);
    expect(again.report).toMatchObject({ outcome: 'REPLAYED', upstreamCalls: 0 });
    expect(received(sandbox)).toHaveLength(1);
    const reused = next.call({ key, content: 'other' }).links.write(summer);
    expect(codeOf(await outcome(reused))).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('belong to the base URL of the API', async () => {
    const made = await start().call({ key }).links.write(summer);
    const other = start({ baseUrl: sandbox.links.url.replace('127.0.0.1', 'localhost') });
    const again = other.call({ key });
    const { id } = await again.links.write(summer);
    expect(id).not.toBe(made.id);
    expect(again.report?.outcome).toBe('EXECUTED');
  });

  it('say that a request was sent whose process was killed', async () => {
    await killAfterSend();
    const next = start();
    expect(next.records.gauges.ambiguous).toBe(1);
    const again = await outcome(next.call({ key }).links.write(summer));
    expect(codeOf(again)).toBe('OUTCOME_UNKNOWN');
    expect(received(sandbox)).toHaveLength(1);
  });

  it('do not say so of a request that was refused for the rate limit', async () => {
    sandbox.links.fault({ kind: 'refuse-429', path: ADD, times: 1 });
    const first = start();
    const refused = outcome(first.call({ key, maxWaitMs: 100 }).links.write(summer));
    await first.clock.advance(200);
    expect(codeOf(await refused)).toBe('BUDGET_EXHAUSTED');
    const next = start();
    await next.call({ key }).links.write(summer);
    expect(received(sandbox)).toHaveLength(2);
  });

  it('have an outcome at once, in memory and in the file', async () => {
    const { records } = start();
    const claim = () =>
      records.claim({
        name: key,
        scope: 'scope',
        upstream: 'LINKS',
        fingerprint: { secret: 'secret', digest: 'content' },
        mutation: 'createChannel',
        madeAt: null,
        report: () => {},
      });
    const claimed = claim();
    if (claimed.kind !== 'owned') throw new Error(claimed.kind);
    claimed.record.ended({ kind: 'done', value: { id: 7 } });
    expect(claim()).toMatchObject({ kind: 'final', outcome: { value: { id: 7 } } });
    expect(start().records.gauges.stored).toBe(1);
  });

  it('reveal neither the key nor the caller nor the input', async () => {
    await start()
      .call({ key, who: 'the-caller' })
      .links.write(createChannel({ name: 'Summer' }));
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('createChannel');
    expect(text).not.toContain(key);
    expect(text).not.toContain('the-caller');
    expect(text).not.toContain(sandbox.links.key);
  });

  it('continue after a line that was cut by the end of its process', async () => {
    const made = await start().call({ key }).links.write(summer);
    appendFileSync(file, '1abc 1 half a li');
    const next = start();
    expect(next.complaints).toEqual([]);
    expect(await next.call({ key }).links.write(summer)).toEqual(made);
  });

  it('are not trusted to be complete after damage: no unknown key is just executed', async () => {
    const others = newKey();
    const first = start();
    const made = await first.call({ key }).links.write(summer);
    await first.call({ key: others }).links.write(summer);
    const lines = readFileSync(file, 'utf8').split('\n');
    lines[lines.length - 2] = 'damaged';
    lines[lines.length - 3] = 'damaged';
    writeFileSync(file, lines.join('\n'));
    const next = start();
    expect(next.complaints).toEqual([expect.stringContaining('writes.damaged.log')]);
    expect(readdirSync(folder).sort()).toEqual(['writes.damaged.log', 'writes.log']);
    expect(await next.call({ key }).links.write(summer)).toEqual(made);
    const lost = () => next.call({ key: others }).links.write(summer);
    expect(codeOf(await outcome(lost()))).toBe('OUTCOME_UNKNOWN');
    // Also in the process after that, until the damage is older than a key is kept.
    const later = start();
    expect(later.complaints).toEqual([]);
    expect(codeOf(await outcome(later.call({ key: others }).links.write(summer)))).toBe(
      'OUTCOME_UNKNOWN',
    );
    expect(received(sandbox)).toHaveLength(2);
    await later.clock.advance(DAY);
    await later.call({ key: others }).links.write(summer);
    expect(received(sandbox)).toHaveLength(3);
  });

  it('of another version are kept and never executed', async () => {
    const first = start();
    await first.call({ key }).links.write(summer);
    const { crc32 } = await import('node:zlib');
    const text = readFileSync(file, 'utf8');
    const other = text.replaceAll(/^\w+ 1 (?=\S+ \{)(.*)$/gm, (_, rest) => {
      const line = `2 ${rest}`;
      return `${crc32(line).toString(36)} ${line}`;
    });
    expect(other).not.toBe(text);
    for (let run = 0; run < 2; run += 1) {
      if (run === 0) writeFileSync(file, other);
      const next = start();
      expect(codeOf(await outcome(next.call({ key }).links.write(summer)))).toBe('OUTCOME_UNKNOWN');
    }
    expect(received(sandbox)).toHaveLength(1);
  });

  it('are kept while the wall clock is set forward or back between two processes', async () => {
    const made = await start().call({ key }).links.write(summer);
    for (const jump of [40 * DAY, -80 * DAY]) {
      const clock = new VirtualClock();
      clock.jumpWall(jump);
      expect(await start({ clock }).call({ key }).links.write(summer)).toEqual(made);
    }
    expect(received(sandbox)).toHaveLength(1);
  });

  it('end after their time', async () => {
    const first = start();
    await first.call({ key }).links.write(summer);
    await first.clock.advance(DAY - 1);
    await first.call({ key }).links.write(summer);
    expect(received(sandbox)).toHaveLength(1);
    await first.clock.advance(1);
    await first.call({ key }).links.write(summer);
    expect(received(sandbox)).toHaveLength(2);
  });

  it('are rewritten without what is over', async () => {
    const first = start({ keepMs: 60_000 });
    for (let n = 0; n < 40; n += 1) {
      const name = `${n} ${'x'.repeat(3000)}`;
      await first.call({ key: `${key} ${n}` }).links.write(createChannel({ name }));
      await first.clock.advance(10_000);
    }
    for (let n = 40; n < 120; n += 1) {
      await first
        .call({ key: `${key} ${n}` })
        .links.write(createChannel({ name: 'x'.repeat(3000) }));
      await first.clock.advance(10_000);
    }
    expect(readFileSync(file).length).toBeLessThan(300_000);
    const next = start({ keepMs: 60_000 });
    const again = next.call({ key: `${key} 119` });
    await again.links.write(summer);
    expect(again.report?.outcome).toBe('REPLAYED');
  });
});
