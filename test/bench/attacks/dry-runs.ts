import { qrCodes } from '../../../src/links/content/qr-code.ts';
import { encodeCursor } from '../../../src/upstream/lists/cursor.ts';
import { nameOf } from '../../../src/upstream/lists/read-pages.ts';
import type { Row } from '../../support/gateway.ts';
import { type Figure, percentile } from '../report/measurement.ts';
import type { Attack } from './attack.ts';
import { sendAll, type Target, times } from './target.ts';

const items = 'channels(first: 500) { nodes { items(first: 500) { nodes { __typename } } } }';

/** Reads of one row each time, of which the median counts. */
const READS = 60;

/** What the sandbox allows in a minute. */
const LIMIT = 30;
const AT_ONCE = { prefer: 'wait=0' };

/** Attacks by asking what something would cost, which costs no upstream call; and what it leaves behind. */
export const dryRunAttacks: readonly Attack[] = [
  {
    name: 'dry-run',
    about: 'Dry runs of 500 channels with 500 items each.',
    mayCall: 0,
    async run(target) {
      for (let n = 0; n < 3; n += 1) await target.dryRun(`{ ${items} } #${n}`);
    },
  },
  {
    name: 'dry-run-aliases',
    about: 'The same under fifty aliases.',
    mayCall: 0,
    async run(target) {
      await target.dryRun(`{ ${times(50, (index) => `a${index}: ${items}`).join(' ')} }`);
    },
  },
  {
    name: 'dry-runs',
    about: 'Five hundred dry runs of 100 channels with 100 items each, fifty at a time.',
    mayCall: 0,
    run: (target) => sendAll(500, 50, () => target.dryRun(`{ ${items.replaceAll('500', '100')} }`)),
  },
  {
    name: 'cursors',
    about:
      'Dry runs with 5,000 forged cursors, each of a page far behind the last, between reads of one row.',
    mayCall: 0,
    run: (target) => forge(target, 100, (query, cursors) => target.dryRun(query, cursors)),
  },
  {
    name: 'cursors-sent',
    about: 'The same with 1,000 cursors by operations that are no dry runs, and do not wait.',
    // Its own calls are a caller’s to spend.
    mayCall: LIMIT,
    run: (target) =>
      forge(target, 20, (query, variables) => target.ask(query, { variables, headers: AT_ONCE })),
  },
  {
    name: 'filters',
    about: 'Two thousand dry runs with a filter of 64 kB each, no two the same.',
    mayCall: 0,
    lastsMs: 12_000,
    run: (target) => sendAll(2000, 4, (index) => target.dryRun(filtered, filter(index))),
  },
  {
    name: 'filters-sent',
    about: 'The same by operations that are no dry runs, and do not wait.',
    mayCall: LIMIT,
    lastsMs: 12_000,
    run: (target) =>
      sendAll(2000, 4, (index) =>
        target.ask(filtered, { variables: filter(index), headers: AT_ONCE }),
      ),
  },
];

const filtered = 'query ($search: String) { files(search: $search, first: 1) { totalCount } }';
const long = 'x'.repeat(64 * 1024);

function filter(index: number): Row {
  return { search: `${index} ${long}` };
}

/** Sends forged cursors, fifty at a time, and compares what one cached row takes after and before. */
async function forge(
  target: Target,
  batches: number,
  send: (query: string, cursors: Row) => Promise<unknown>,
): Promise<readonly Figure[]> {
  const before = await rowMs(target);
  const names = times(50, (index) => `c${index}`);
  const fields = names.map((name) => `${name}: qrCodes(first: 1, after: $${name}) { totalCount }`);
  const query = `query (${names.map((name) => `$${name}: String`).join()}) { ${fields.join(' ')} }`;
  await sendAll(batches, 4, (batch) => {
    const cursors = names.map((name, index) => {
      const page = 1_000_000 + batch * names.length + index;
      const list = nameOf(qrCodes);
      return [name, encodeCursor({ list, page, index: 0, perPage: 100, identity: `${page}` })];
    });
    return send(query, Object.fromEntries(cursors));
  });
  const after = await rowMs(target);
  return [
    {
      label: 'time to read one row after the attack, over before',
      value: after / before,
      digits: 2,
      target: { atMost: 1.5 },
      note: `${after.toFixed(1)} ms over ${before.toFixed(1)} ms`,
    },
  ];
}

/** Milliseconds that one row takes which is read from the cache. */
async function rowMs(target: Target): Promise<number> {
  const list = await target.ask('{ qrCodes(first: 1) { nodes { id } } }');
  const { nodes } = (list.data?.['qrCodes'] ?? {}) as { readonly nodes?: readonly Row[] };
  const variables = { id: nodes?.[0]?.['id'] };
  const took: number[] = [];
  for (let n = 0; n < READS; n += 1) {
    const begun = performance.now();
    await target.ask('query ($id: ID!) { qrCode(id: $id) { name } }', { variables });
    took.push(performance.now() - begun);
  }
  return percentile(took, 0.5);
}
