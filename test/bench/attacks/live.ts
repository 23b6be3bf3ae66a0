import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { othersServed, tokens } from './target.ts';

const KB = 1024;

const fields = 'id databaseId name category description options tags version';
/** A live query that shows much, and that no other caller asks for. */
const much = (index: number) =>
  `query @live { pixels(first: 1) { nodes { name } } items(first: ${500 - (index % 400)}) { nodes { ${fields} a${index}: name } } }`;

const PIXEL = 'pixels(first: 1) { nodes { name } }';
/** Eight times as much, by a text that is the same for all: what is remembered of texts is not attacked here. */
const heavy = `query ($first: Int) @live { ${PIXEL} ${Array.from(
  { length: 8 },
  (_, part) => `p${part}: items(first: $first) { nodes { ${fields} } }`,
).join(' ')} }`;

function head(
  query: string,
  { token = tokens.attacker, first }: { readonly token?: string; readonly first?: number } = {},
): string {
  const body = JSON.stringify({ query, variables: { first } });
  const lines = [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Accept: text/event-stream;live=age',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${body.length}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Resolves once a socket has brought a text, with the milliseconds that took; `null` where it ends before. */
function says(socket: Socket, text: string): Promise<number | null> {
  const since = performance.now();
  let said = '';
  return new Promise((resolve) => {
    socket.setEncoding('utf8');
    socket.on('data', (piece: string) => {
      said += piece;
      if (said.includes(text)) resolve(performance.now() - since);
    });
    socket.on('close', () => resolve(null));
    socket.resume();
  });
}

/** An update of one caller may wait for one heavy run of another, and for the rest after it. */
const UPDATE_MS = 1000;

/** Attacks by live queries: they last, and run again by themselves. */
export const liveAttacks: readonly Attack[] = [
  {
    name: 'live-many',
    about:
      'Four hundred live queries, each with a large result of its own, while pixels are changed that all of them show. Nobody reads them.',
    mayCall: 40,
    lastsMs: 30_000,
    connections: { count: 400, mayHoldBytes: 256 * KB },
    async run(target) {
      const sockets: Socket[] = [];
      for (let n = 0; n < 400 && !target.isOver; n += 1) {
        sockets.push(await target.open(head(much(n))));
        await target.wait(5);
      }
      const served: boolean[] = [];
      for (let n = 0; n < 5 && !target.isOver; n += 1) {
        await target.ask(
          'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } }',
        );
        await target.wait(200);
        served.push(await target.reads('{ channels(first: 3) { nodes { name } } }', 5));
      }
      // Their queries are let go of a while after they are.
      for (const socket of sockets) socket.destroy();
      await target.wait(6000);
      return [othersServed('other callers served while live queries run', served)];
    },
  },
  {
    name: 'live-greedy',
    about:
      'A hundred and fifty heavy live queries at once, which take all that one caller may have, while others look at queries of their own and see changes.',
    mayCall: 40,
    lastsMs: 60_000,
    connections: { count: 150, mayHoldBytes: 512 * KB },
    async run(target) {
      const sockets = await target.openMany(150, (index) => head(heavy, { first: 500 - index }));
      await target.wait(5000);
      const served: boolean[] = [];
      const lateMs: number[] = [];
      for (let n = 0; n < 5 && !target.isOver; n += 1) {
        const viewer = await target.open(
          head(`query @live { ${PIXEL} n${n}: __typename }`, { token: tokens.reader }),
        );
        const first = await Promise.race([says(viewer, 'event: next'), target.wait(5000)]);
        served.push(typeof first === 'number');
        const seen = says(viewer, `changed ${n}`);
        await target.ask(
          `mutation { createPixel(input: { type: GTM, name: "changed ${n}", tag: "GTM-1" }) { __typename } }`,
        );
        lateMs.push((await Promise.race([seen, target.wait(10_000)])) ?? 10_000);
        viewer.destroy();
      }
      for (const socket of sockets) socket.destroy();
      await target.wait(6000);
      return [
        othersServed('others see live queries of their own beside a greedy caller', served),
        {
          label: 'a change is seen beside a greedy caller after',
          value: Math.max(...lateMs),
          unit: ' ms',
          target: { atMost: UPDATE_MS },
          note: 'the slowest of five',
        },
      ];
    },
  },
  {
    name: 'live-churn',
    about:
      'Three thousand live queries that begin and are broken off at once, a hundred at a time.',
    mayCall: 2,
    lastsMs: 30_000,
    async run(target) {
      for (let n = 0; n < 30 && !target.isOver; n += 1) {
        const sockets = await target.openMany(100, () =>
          head('query @live { account { username } }'),
        );
        for (const socket of sockets) socket.destroy();
      }
      await target.wait(500);
    },
  },
];
