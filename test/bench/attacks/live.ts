import type { Socket } from 'node:net';
import type { Attack } from './attack.ts';
import { othersServed, tokens } from './target.ts';

const KB = 1024;

const fields = 'id databaseId name category description options tags version';
/** A live query that shows much, and that nobody else asks for. */
const much = (index: number) =>
  `query @live { pixels(first: 1) { nodes { name } } items(first: ${500 - (index % 400)}) { nodes { ${fields} a${index}: name } } }`;

function head(query: string): string {
  const body = JSON.stringify({ query });
  const lines = [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Accept: text/event-stream;live=patch',
    `Authorization: Bearer ${tokens.attacker}`,
    `Content-Length: ${body.length}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

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
      return [othersServed('others served while live queries run', served)];
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
