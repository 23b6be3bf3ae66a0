import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createDice } from '../load.ts';
import { exportTheSame, KilledGateway, NESTED } from './killed-gateway.ts';

/** `npm run soak:jobs` kills 50 gateways, and makes and deletes 1,000 rows. */
const kills = Number(process.env['JOBS_KILLS'] ?? 2);
const changes = Number(process.env['JOBS_CHANGES'] ?? 20);
const ranges = 20;
const seed = Number(process.env['JOBS_SEED'] ?? 1);
const TIME_MS = 60_000 + 3000 * kills + 500 * changes;

it('an export is the same file after kills at random times', { timeout: TIME_MS }, () =>
  exportTheSame(kills, createDice(seed), () => KilledGateway.start()),
);

it('rows that stay are exported once, while others come and go', { timeout: TIME_MS }, async () => {
  const gateway = await KilledGateway.start();
  const dice = createDice(seed);
  const { links } = gateway.sandbox;
  const direct = async (method: string, path: string, body?: unknown): Promise<{ id: number }> => {
    const response = await fetch(`${links.url}/api/${path}`, {
      method,
      headers: { authorization: `Bearer ${links.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as { id: number };
  };
  const before: number[] = [];
  for (let at = 0; at < 2 * changes; at += 1) {
    before.push((await direct('POST', 'channel/add', { name: `row ${at}` })).id);
  }
  links.fault({ kind: 'slow', method: 'GET', delayMs: 400 });
  const id = await gateway.startExport('{ channels { nodes { databaseId name } } }');
  const gone = new Set<number>();
  const churn = (async () => {
    for (let at = 0; at < changes; at += 1) {
      // Over the whole export.
      await pause(5);
      await direct('POST', 'channel/add', { name: `new ${at}` });
      const victim = before[dice(before.length)];
      if (victim === undefined || gone.has(victim)) continue;
      gone.add(victim);
      await direct('DELETE', `channel/${victim}/delete`);
    }
  })();
  const killed = await gateway.killUntilDone(id, Math.ceil(kills / 10), createDice(seed + 1));
  await churn;
  const rows = (await (await gateway.output(id)).text())
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { databaseId: number }).databaseId);
  expect(new Set(rows).size).toBe(rows.length);
  const exported = new Set(rows);
  expect(before.filter((each) => !gone.has(each) && !exported.has(each))).toEqual([]);
  expect(gone.size).toBeGreaterThan(changes / 2);
  console.info(`${changes} rows made, ${gone.size} deleted, ${killed} kills`);
});

it('ranges of an output are parts of it', { timeout: TIME_MS }, async () => {
  const gateway = await KilledGateway.start();
  const dice = createDice(seed);
  const id = await gateway.startExport(NESTED);
  await gateway.killUntilDone(id, 0, dice);
  const whole = Buffer.from(await (await gateway.output(id)).arrayBuffer());
  for (let n = 0; n < ranges; n += 1) {
    const from = dice(whole.length);
    const to = from + dice(whole.length - from);
    const response = await gateway.output(id, `bytes=${from}-${to}`);
    expect(response.status).toBe(206);
    const part = Buffer.from(await response.arrayBuffer());
    expect(part.equals(whole.subarray(from, to + 1)), `${from}-${to}`).toBe(true);
  }
});
