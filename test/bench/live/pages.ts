import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Row } from '../../support/gateway.ts';

/** Pages that are looked at; some of what they show they have in common. */
export interface Pages {
  /** A GraphQL request in JSON for each. */
  readonly bodies: readonly string[];
  /** Upstream reads that they need in all. */
  readonly reads: number;
  /** One more, of which the result is large. */
  readonly large: string;
  /** A channel that all of them show. */
  readonly channel: number;
}

const PAGES = 20;
const CARDS = 3;
const SEARCHES = 4;

const of = (count: number, each: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => each(n)).join(' ');

const query = `query Page(${of(CARDS, (n) => `$c${n}: ID!`)} ${of(SEARCHES, (n) => `$s${n}: String!`)}) @live {
  account { username email }
  channels(first: 30) { totalCount nodes { databaseId name description color starred } }
  ${of(CARDS, (n) => `c${n}: channel(id: $c${n}) { ...Card }`)}
  ${of(SEARCHES, (n) => `s${n}: files(search: $s${n}, first: 5) { totalCount nodes { databaseId name } }`)}
}
fragment Card on Channel {
  databaseId name
  items(first: 10) { totalCount nodes { ... on ChannelEntry { databaseId title link date } } }
}`;

const large = `query Large @live {
  channels(first: 100) { nodes { ...Channel items(first: 100) { nodes { ...Entry } } } }
}
fragment Channel on Channel { id databaseId name description color starred }
fragment Entry on ChannelEntry { __typename databaseId title link date }`;

/** Twenty pages of a frontend over the sandbox, which then forgets that it was asked. */
export async function pagesOf(sandbox: Sandbox): Promise<Pages> {
  const answer = await fetch(`${sandbox.links.url}/api/channels?limit=100&page=1`, {
    headers: { authorization: `Bearer ${sandbox.links.key}` },
  });
  const { channels } = ((await answer.json()) as { data: { channels: Row[] } }).data;
  sandbox.reset();
  const ids = channels.map(({ id }) => Number(id));
  const bodies = Array.from({ length: PAGES }, (_, page) => {
    const cards = Array.from({ length: CARDS }, (_c, n) => [
      `c${n}`,
      String(ids[(page * CARDS + n) % ids.length]),
    ]);
    const searches = Array.from({ length: SEARCHES }, (_s, n) => [`s${n}`, `file ${page} ${n}`]);
    return JSON.stringify({ query, variables: Object.fromEntries([...cards, ...searches]) });
  });
  const cards = Math.min(ids.length, PAGES * CARDS);
  return {
    bodies,
    large: JSON.stringify({ query: large }),
    reads: 2 + cards + PAGES * SEARCHES,
    channel: ids[0] ?? 0,
  };
}
