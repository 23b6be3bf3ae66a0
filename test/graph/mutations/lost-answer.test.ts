import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { type Row, startWorld, type World } from '../../support/gateway.ts';
import { rounds } from '../../support/rounds.ts';
import { NO_LOOK } from './story.ts';

const RUNS = rounds(250);
/** Side by side, but not so many that the upstream is given up when all of them lose their answer. */
const LANES = 4;

/** The ways in which the answer to a write is lost after the write was done. */
const losses: readonly Fault[] = [
  { kind: 'drop', applied: true },
  { kind: 'truncated' },
  { kind: 'error-500', applied: true },
  { kind: 'html', applied: true },
  { kind: 'html', status: 502, applied: true },
  { kind: 'empty', applied: true },
];

let world: World;

beforeAll(async () => {
  world = await startWorld({ env: NO_LOOK });
});
afterAll(() => world.close());

it(`a write whose answer is lost is there once, ${RUNS} times out of ${RUNS}`, async () => {
  const path = '/api/qr/add';
  for (let run = 0; run < RUNS; run += 1) {
    world.sandbox.links.fault({
      ...(losses[run % losses.length] as Fault),
      method: 'POST',
      path,
      times: 1,
    });
  }
  const mutation = `mutation ($name: String) {
    createQrCode(input: { type: TEXT, data: { value: "x" }, name: $name }) { __typename }
  }`;
  const codes = new Set<unknown>();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < RUNS) {
      const name = `lost ${next}`;
      next += 1;
      const { errors, receipt } = await world.ask(mutation, { name });
      expect(receipt.calls).toBe(1);
      for (const { extensions } of errors) codes.add(extensions?.code);
      const { qrCodes } = await world.data<{ qrCodes: { nodes: Row[] } }>(
        '{ qrCodes(first: 20) { nodes { name } } }',
      );
      expect(qrCodes.nodes.filter((node) => node['name'] === name)).toHaveLength(1);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));

  expect([...codes]).toEqual(['OUTCOME_UNKNOWN']);
  const sent = world.sandbox.links.requests.filter(({ method }) => method === 'POST');
  expect(sent).toHaveLength(RUNS);
  const made = new Map<unknown, number>();
  for (let page = 1; page <= Math.ceil((RUNS + 200) / 100); page += 1) {
    const { data } = await world.links<{ data: { qrs: Row[] } }>(`/api/qr?limit=100&page=${page}`);
    for (const { name } of data.qrs) made.set(name, (made.get(name) ?? 0) + 1);
  }
  for (let run = 0; run < RUNS; run += 1) expect(made.get(`lost ${run}`)).toBe(1);
});
