import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../../support/busy-gateway.ts';

const create = 'mutation { createChannel(input: { name: "Overhead" }) { ... on Channel { id } } }';
const update = 'mutation { updateChannel(input: { id: "1", name: "Other" }) { __typename } }';

let busy: BusyGateway;
beforeEach(async () => {
  busy = await busyGateway();
});
afterEach(() => busy.close());

/** Sends a mutation; returns the upstream requests that it took. */
async function send(query: string, key: string | null): Promise<number> {
  const before = busy.sandbox.links.requests.length;
  const headers = key === null ? {} : { 'idempotency-key': `"${key}"` };
  const { errors } = await busy.ask(query, { headers });
  expect(errors).toBeUndefined();
  return busy.sandbox.links.requests.length - before;
}

async function keys(): Promise<number> {
  const text = await (await fetch(`${busy.url}/metrics`)).text();
  const counts = [...text.matchAll(/^gateway_idempotency_keys\{.*\} (\d+)$/gm)];
  expect(counts.length).toBeGreaterThan(0);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

it('A mutation without a key leaves no record', async () => {
  expect(await send(create, null)).toBe(1);
  expect(await send(update, null)).toBe(1);
  expect(await keys()).toBe(0);
});

it('A mutation with a key leaves one record, and takes no further request', async () => {
  expect(await send(create, 'a')).toBe(1);
  expect(await send(update, 'b')).toBe(1);
  expect(await keys()).toBe(2);
});
