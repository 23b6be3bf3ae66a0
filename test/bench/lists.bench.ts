import { monitorEventLoopDelay } from 'node:perf_hooks';
import { it } from 'vitest';
import { CodeList } from '../graph/paging/views/code-list.ts';
import type { World } from '../support/gateway.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

const QUERY = `query ($search: String, $orderBy: QrCodeOrder) {
  qrCodes(search: $search, orderBy: $orderBy, first: 20) { totalCount nodes { name scans } }
}`;
const TIMES = 200;

function codes(count: number): CodeList['rows'] {
  return Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    name: `Table card ${(n * 7919) % 10_007}, Café ${n}`,
    scans: (n * 7919) % 10_007,
    date: '2026-01-01 12:00:00',
  }));
}

/** Milliseconds from query to response, each of another search: the median and the 95th percentile. */
async function searches(world: World, orderBy?: object): Promise<readonly [number, number]> {
  const took: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const begin = performance.now();
    await world.data(QUERY, { search: `card ${n}`, orderBy });
    took.push(performance.now() - begin);
  }
  const late = took.slice(TIMES / 4);
  return [percentile(late, 0.5), percentile(late, 0.95)];
}

it('lists', async () => {
  await using list = await CodeList.start();
  const figures: Figure[] = [];
  list.rows = codes(1000);
  const world = await list.world({});
  await world.data(QUERY, { search: 'card' });
  figures.push({
    label: 'first search of 1,000 QR codes: upstream calls',
    value: list.log.length,
    target: { atMost: 10 },
  });
  list.log.length = 0;
  const [searched, slowest] = await searches(world);
  const [sorted] = await searches(world, { field: 'NAME' });
  figures.push(
    {
      label: 'searches while they are cached: upstream calls',
      value: list.log.length,
      target: { atMost: 0 },
    },
    {
      label: 'a new search of them, median',
      value: searched,
      unit: ' ms',
      digits: 1,
      target: { atMost: 5 },
      note: `95 % within ${slowest.toFixed(1)} ms`,
    },
    {
      label: 'a new search of them, sorted by name, median',
      value: sorted,
      unit: ' ms',
      digits: 1,
      target: { atMost: 5 },
    },
  );
  await world.close();

  list.rows = codes(20_000);
  const large = await list.world({ LINKS_PAGE_SIZE: '1000' });
  await large.data(QUERY, { search: 'card' });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      large.data(QUERY, { search: `card ${n}`, orderBy: { field: 'NAME' } }),
    ),
  );
  delay.disable();
  figures.push({
    label: 'longest turn of the event loop with 50 sorted searches of 20,000 at once',
    value: delay.max / 1e6,
    unit: ' ms',
    target: { atMost: 100 },
  });
  await large.close();
  record({
    bench: 'lists',
    about: 'Searches and orders of lists whose pages are cached, from the query to its response.',
    figures,
  });
});
