import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { typeDefs } from '../throughput/peers.ts';
import { type Server, startGateway, startText } from '../throughput/servers.ts';

/** Account and ten channels with five items each: 12 calls, ten of them at once. */
const DASHBOARD = `{ account { username } channels(first: 10) { nodes { id name
  items(first: 5) { totalCount nodes { ... on ChannelEntry { title link } } } } } }`;

/** The same dashboard over Apollo Server and its data source for REST, by the calls that the gateway makes. */
const apollo = `
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { RESTDataSource } from '@apollo/datasource-rest';
${typeDefs}
class Links extends RESTDataSource {
  baseURL = process.env.LINKS_BASE_URL + '/api/';
  willSendRequest(_path, request) {
    request.headers.authorization = 'Bearer ' + process.env.LINKS_API_KEY;
  }
  account() { return this.get('account'); }
  channels() { return this.get('channels?limit=100&page=1'); }
  items(id) { return this.get('channel/' + id + '?limit=100&page=1'); }
}
const resolvers = {
  Query: {
    account: async (_, args, { links }) => (await links.account()).data,
    channels: async (_, { first }, { links }) => {
      const { channels } = (await links.channels()).data;
      return { nodes: channels.slice(0, first) };
    },
  },
  Channel: {
    items: async ({ id }, { first }, { links }) => {
      const { items, result } = (await links.items(id)).data;
      return { totalCount: result, nodes: items.slice(0, first) };
    },
  },
};
const server = new ApolloServer({ typeDefs, resolvers });
await startStandaloneServer(server, {
  listen: { port: Number(process.env.PORT), host: '127.0.0.1' },
  context: async () => ({ links: new Links() }),
});
`;

/** Who answers the dashboard: the gateway, for the first time or after a process like it, or Apollo Server. */
export type Contestant = 'first start' | 'restart' | 'apollo';

/** Starts one over an upstream. What a gateway notes for the next one is in `folder`; `peers` is that of `installPeers`. */
export function startContestant(
  contestant: Contestant,
  upstream: { readonly url: string; readonly key: string },
  { folder, peers }: { readonly folder: string; readonly peers: string },
): Promise<Server> {
  const env = { LINKS_BASE_URL: upstream.url, LINKS_API_KEY: upstream.key };
  if (contestant === 'apollo') {
    return startText(`cold-apollo-${process.pid}.mjs`, apollo, env, { folder: peers });
  }
  const state = join(folder, 'state');
  if (contestant === 'first start') rmSync(state, { recursive: true, force: true });
  return startGateway({ ...env, ...NOTHING_STAYS, STATE_DIR: state });
}

/** Nothing that was read is used again after some milliseconds. */
const NOTHING_STAYS = {
  AUTH_MODE: 'none',
  LOG_LEVEL: 'warn',
  LINKS_RATE_LIMIT: '1000',
  LINKS_RATE_WINDOW_MS: '1000',
  CACHE_MAX_BYTES: '1',
  TTLS: '{"account": 1, "channels": 1, "channelItems": 1}',
};

/** One dashboard: when it was asked for, by `performance.now()`, and what it took, in milliseconds. */
export interface Asked {
  readonly begin: number;
  readonly ms: number;
  /** The time that all threads of the server computed for. */
  readonly processorMs: number;
}

/** Asks for the dashboard. */
export async function ask({ pid, port }: Server): Promise<Asked> {
  const before = processorMs(pid);
  const begin = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: DASHBOARD }),
  });
  const text = await response.text();
  const ms = performance.now() - begin;
  const { data, errors } = JSON.parse(text) as {
    data?: { channels?: { nodes: unknown[] } };
    errors?: unknown;
  };
  if (errors !== undefined || data?.channels?.nodes.length !== 10)
    throw new Error(text.slice(0, 500));
  return { begin, ms, processorMs: processorMs(pid) - before };
}

/** The time that the threads of a process have computed for, finer than in ticks of the system. Linux only. */
function processorMs(pid: number): number {
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads)
    .map((thread) => Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, ns) => sum + ns / 1e6, 0);
}
