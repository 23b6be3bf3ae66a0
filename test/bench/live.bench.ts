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
      'A built gateway over a sandbox outside it, with viewers of 20 pages as live queries, each a connection of its own. First the pages need more reads than the limit allows in a ttl; then there is no limit, and a mutation changes what all of them show.',
    figures,
  });
}, 600_000);
