import { decode } from 'html-entities';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Row } from '../support/gateway.ts';

/** A page of a frontend: one operation, and what it must answer. */
export interface Dashboard {
  readonly body: string;
  readonly expected: Row;
  /** The `Prefer` header, of one that may take longer than the gateway's settings say. */
  readonly patience?: string;
}

const DASHBOARDS = 5;
const CHANNELS_EACH = 5;
const ITEMS_SHOWN = 5;

const query = `query Dashboard(${names((name) => `$${name}: ID!`, ', ')}) {
  account { username email }
  channels(first: 10) { totalCount nodes { databaseId name description color starred } }
  ${names((name) => `${name}: channel(id: $${name}) { ...Card }`, '\n  ')}
}
fragment Card on Channel {
  databaseId name
  items(first: ${ITEMS_SHOWN}) { totalCount nodes { ... on ChannelEntry { databaseId title link date } } }
}`;

/**
 * Five dashboards that need 27 upstream reads in all: the account, the list of channels, and the items
 * of five channels each. What they must show is read from the sandbox itself, which then forgets that
 * it was asked.
 */
export async function dashboardsOf(sandbox: Sandbox): Promise<Dashboard[]> {
  const get = async (path: string): Promise<Row> => {
    const headers = { authorization: `Bearer ${sandbox.links.key}` };
    const answer = (await (await fetch(sandbox.links.url + path, { headers })).json()) as Row;
    if (Number(answer['error']) !== 0) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return decoded(answer['data']) as Row;
  };
  const { username, email } = await get('/api/account');
  const { result, channels } = await get('/api/channels?limit=100&page=1');
  const rows = channels as Row[];
  const cards = await Promise.all(
    rows.slice(0, DASHBOARDS * CHANNELS_EACH).map(async ({ id, name }) => {
      const page = await get(`/api/channel/${String(id)}?limit=100&page=1`);
      const nodes = (page['items'] as Row[]).slice(0, ITEMS_SHOWN);
      return {
        databaseId: id,
        name,
        items: { totalCount: page['result'], nodes: nodes.map(itemOf) },
      };
    }),
  );
  sandbox.reset();
  return Array.from({ length: DASHBOARDS }, (_, index) => {
    const own = cards.slice(index * CHANNELS_EACH, (index + 1) * CHANNELS_EACH);
    const variables = own.map((card, at) => [`c${at}`, String(card.databaseId)]);
    const list = { totalCount: result, nodes: rows.slice(0, 10).map(channelOf) };
    return {
      body: JSON.stringify({ query, variables: Object.fromEntries(variables) }),
      expected: {
        account: { username, email },
        channels: list,
        ...Object.fromEntries(own.map((card, at) => [`c${at}`, card])),
      },
    };
  });
}

function channelOf({ id, name, description, color, starred }: Row): Row {
  return { databaseId: id, name, description, color, starred };
}

function itemOf({ id, title, link, date }: Row): Row {
  return { databaseId: id, title, link, date };
}

/** The upstream's texts are escaped for HTML, the graph's are not. */
function decoded(value: unknown): unknown {
  if (typeof value === 'string') return decode(value);
  if (Array.isArray(value)) return value.map(decoded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, decoded(each)]));
}

function names(each: (name: string) => string, between: string): string {
  return Array.from({ length: CHANNELS_EACH }, (_, index) => each(`c${index}`)).join(between);
}
