import { it } from 'vitest';
import { changes } from './live/changes.ts';
import { limited } from './live/limited.ts';
import { memory } from './live/memory.ts';
import { record } from './report/measurement.ts';

it('live', async () => {
  const figures = [...(await limited()), ...(await changes()), ...(await memory())];
  record({
    bench: 'live',
    about:
      'A built gateway with a sandbox outside it. Viewers open 20 pages as live queries, each with its own connection. First the pages need more reads than the limit allows in a ttl. Then there is no limit, and a mutation changes what all of them show.',
    figures,
  });
}, 600_000);
