import { afterEach, describe, expect, it } from 'vitest';
import { exchange } from '../support/exchange.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';

/** The heap of the process, in MB: a few hundred plans of the largest operation would fill it. */
const HEAP_MB = 64;

let running: Running | undefined;
afterEach(async () => {
  running?.child.kill('SIGKILL');
  await running?.ended;
});

async function startSmall(): Promise<string> {
  const args = [`--max-old-space-size=${HEAP_MB}`, ...GATEWAY];
  const env = { PORT: '0', LOG_LEVEL: 'error' };
  running = start(process.execPath, args, { cwd: '.', env });
  return (await running.says(/(http:\/\/localhost:\d+)\/graphql/))[1] ?? '';
}

async function ask(url: string, body: object): Promise<{ readonly data?: object }> {
  const { text } = await exchange(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return JSON.parse(text) as { readonly data?: object };
}

/** How many operations were executed over cached data. */
async function atHand(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^gateway_operations_at_hand_total (\d+)/m.exec(text)?.[1]);
}

const times = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ');

describe('the plans of operations take bounded memory', () => {
  it('where a condition of one operation is a text in another of the same document', async () => {
    const url = await startSmall();
    const item = '{ nodes { id databaseId name category description tags version } }';
    const query = `query A($v: Boolean!) { account @include(if: $v) { id } }
      query B($v: String) { ${times(48, (n) => `a${n}: items(search: $v, first: 1) ${item}`)} }`;
    for (let n = 0; n < 400; n += 1) {
      const { data } = await ask(url, { query, operationName: 'B', variables: { v: `text ${n}` } });
      expect(Object.keys(data ?? {})).toHaveLength(48);
    }
    expect(await atHand(url)).toBeGreaterThan(390);
  });

  it('where short texts come to many fields, in each way that their conditions allow', async () => {
    const url = await startSmall();
    const names = 'databaseId name category description tags version';
    const conditions = ['a', 'b', 'c'] as const;
    let asked = 0;
    for (let n = 0; n < 40; n += 1) {
      // Nearly as many fields as an operation may have, in a text of 800 characters.
      const query = `query ($a: Boolean!, $b: Boolean!, $c: Boolean!, $s: String) {
        account @include(if: $a) { x${n}: id } seller @skip(if: $b) { username } plans @skip(if: $c) { id }
        ${times(45, (at) => `a${at}: items(search: $s, first: 1) { ...I }`)} }
        fragment I on ItemConnection { nodes { id ${names} publishedAt } }`;
      for (let of = 0; of < 8; of += 1) {
        const values = conditions.map((name, bit) => [name, ((of >> bit) & 1) === 1]);
        const variables = Object.fromEntries(values);
        for (const s of ['poster', `none ${n}`]) {
          const { data } = await ask(url, { query, variables: { ...variables, s } });
          expect(data).toHaveProperty('a44');
          asked += 1;
        }
      }
    }
    expect(await atHand(url)).toBeGreaterThan(asked * 0.8);
  });
});
