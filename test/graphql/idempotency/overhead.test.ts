import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../../support/busy-gateway.ts';

const create = 'mutation { createChannel(input: { name: "Overhead" }) { ... on Channel { id } } }';
const update = 'mutation { updateChannel(input: { id: "1", name: "Other" }) { __typename } }';
/** The file of records. */
const FILE = 'writes.log';

let folder: string;
let busy: BusyGateway;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'overhead-'));
  busy = await busyGateway({ STATE_DIR: folder });
});
afterEach(async () => {
  await busy.close();
  rmSync(folder, { recursive: true });
});

/** Sends a mutation; returns the upstream requests that it took. */
async function send(query: string, key: string | null): Promise<number> {
  const before = busy.sandbox.links.requests.length;
  const headers = key === null ? {} : { 'idempotency-key': `"${key}"` };
  const { errors } = await busy.ask(query, { headers });
  expect(errors).toBeUndefined();
  return busy.sandbox.links.requests.length - before;
}

/** The lines of the file of records after the first, and the names of all files. */
const saved = () => ({
  lines: readFileSync(join(folder, FILE), 'utf8').trimEnd().split('\n').slice(1),
  files: readdirSync(folder).sort(),
});

async function keys(): Promise<number> {
  const text = await (await fetch(`${busy.url}/metrics`)).text();
  const counts = [...text.matchAll(/^gateway_idempotency_keys\{.*\} (\d+)$/gm)];
  expect(counts.length).toBeGreaterThan(0);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('a mutation without a key', () => {
  it('leaves no record, in memory or in STATE_DIR', async () => {
    const before = saved();
    expect(await send(create, null)).toBe(1);
    expect(await send(update, null)).toBe(1);
    expect(await keys()).toBe(0);
    expect(saved()).toEqual(before);
  });
});

describe('a mutation with a key', () => {
  it('leaves two lines, one before it is sent and one with its outcome, and takes no further request', async () => {
    const before = saved();
    expect(await send(create, 'a')).toBe(1);
    expect(saved().lines).toHaveLength(before.lines.length + 2);
    expect(await send(update, 'b')).toBe(1);
    expect(saved().lines).toHaveLength(before.lines.length + 4);
    expect(saved().files).toEqual(before.files);
    expect(await keys()).toBe(2);
  });
});
