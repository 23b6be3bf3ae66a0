import { expect, it } from 'vitest';
import { startWorld } from '../support/gateway.ts';

it('answers many rows over several turns of the event loop, so that no caller waits for all of them', async () => {
  const world = await startWorld();
  const aliases = Array.from(
    { length: 50 },
    (_, n) => `a${n}: qrCodes(first: 100) { nodes { id } }`,
  );
  const query = `{ ${aliases.join(' ')} }`;
  const data = await world.data<Record<string, { nodes: unknown[] }>>(query);
  const rows = Object.values(data).reduce((sum, { nodes }) => sum + nodes.length, 0);
  expect(rows).toBeGreaterThan(2500);
  let turns = 0;
  let running = true;
  const count = (): void => {
    turns += 1;
    if (running) setImmediate(count);
  };
  setImmediate(count);
  expect(await world.data(query)).toEqual(data);
  running = false;
  expect(turns).toBeGreaterThan(rows / 500);
  await world.close();
});
