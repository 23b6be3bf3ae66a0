import { readdirSync, statSync } from 'node:fs';
import type { Attack } from './attack.ts';
import { times, tokens } from './target.ts';

const CONNECTIONS = 200;
/** How long nothing is read. */
const HELD_MS = 2500;

const fields =
  'id databaseId name category subCategory currency description demoLink options tags version publishedAt media { kind thumbnail previewImage screenshots } price { regular extended }';
const large = `{ ${times(6, (index) => `a${index}: items(first: 500) { nodes { ${fields} } }`).join(' ')} }`;

/** A request as it stands on the wire. */
function head(lines: readonly string[], body = ''): string {
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** The name of the largest script that the build has made for browsers. */
function largestAsset(): string {
  const sizes = readdirSync('dist/pages/assets')
    .filter((name) => name.endsWith('.js'))
    .map((name) => ({ name, bytes: statSync(`dist/pages/assets/${name}`).size }));
  return sizes.sort((a, b) => b.bytes - a.bytes)[0]?.name ?? '';
}

/** Attacks by not reading what was asked for. */
export const unreadAttacks: readonly Attack[] = [
  {
    name: 'unread-page',
    about:
      'Two hundred connections, without any credential, ask for the largest part of GraphiQL as it is and do not read it.',
    mayCall: 0,
    connections: { count: CONNECTIONS, mayHoldBytes: 256 * 1024 },
    prepare: (target) =>
      fetch(`http://${target.host}:${target.port}/assets/${largestAsset()}`).then((asset) =>
        asset.text(),
      ),
    async run(target) {
      const lines = [`GET /assets/${largestAsset()} HTTP/1.1`, 'Host: localhost'];
      await target.openMany(CONNECTIONS, () => head(lines));
      await target.wait(HELD_MS);
    },
  },
  {
    name: 'unread-answers',
    about: 'Two hundred connections ask for a large answer from the cache and do not read it.',
    mayCall: 0,
    connections: { count: CONNECTIONS, mayHoldBytes: 512 * 1024 },
    async run(target) {
      const body = JSON.stringify({ query: large });
      const lines = [
        'POST /graphql HTTP/1.1',
        'Host: localhost',
        'Content-Type: application/json',
        `Authorization: Bearer ${tokens.attacker}`,
        `Content-Length: ${body.length}`,
      ];
      // One after the other: to answer all of them in one go is another attack.
      for (let n = 0; n < CONNECTIONS && !target.isOver; n += 1) {
        await target.open(head(lines, body));
        await target.wait(10);
      }
      await target.wait(HELD_MS);
    },
  },
];
