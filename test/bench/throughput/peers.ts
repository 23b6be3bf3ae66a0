import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Server, startText } from './servers.ts';

/** What the peers are made of; `graphql` and Yoga as the gateway has them. */
const PACKAGES = [
  'graphql@16.15.0',
  'graphql-yoga@5.24.1',
  '@graphql-yoga/plugin-response-cache@3.26.1',
  '@apollo/server@5.5.1',
  '@apollo/server-plugin-response-cache@5.0.0',
  '@apollo/datasource-rest@6.4.1',
];
const INSTALL_MS = 90_000;

/** The part of the graph that the dashboard asks for, as a statement of a peer's program. */
export const typeDefs = `const typeDefs = \`
  type Query { account: Account channel(id: ID!): Channel channels(first: Int): Channels }
  type Account { username: String }
  type Channels { nodes: [Channel!]! }
  type Channel { id: ID! name: String items(first: Int): Items }
  type Items { totalCount: Int nodes: [ChannelEntry!]! }
  type ChannelEntry { title: String link: String }
\`;`;

/** That part, and where its values come from. */
const graph = `
const data = JSON.parse(process.env.ANSWER).data;
${typeDefs}
const { account, channels } = data;
const channel = (_, { id }) => channels.nodes[parseInt(id, 36) % channels.nodes.length];
const resolvers = { Query: { account: () => account, channel, channels: () => channels } };
`;

const yoga = (plugins: string): string => `
import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';
${plugins === '' ? '' : "import { useResponseCache } from '@graphql-yoga/plugin-response-cache';"}
${graph}
const schema = createSchema({ typeDefs, resolvers });
createServer(createYoga({ schema, logging: false, plugins: [${plugins}] })).listen(process.env.PORT, '127.0.0.1');
`;

const apollo = `
import { createRequire } from 'node:module';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginCacheControl } from '@apollo/server/plugin/cacheControl';
import { startStandaloneServer } from '@apollo/server/standalone';
// Its default export is within another one where Node imports it as CommonJS.
const responseCache = createRequire(import.meta.url)('@apollo/server-plugin-response-cache').default;
${graph}
const plugins = [ApolloServerPluginCacheControl({ defaultMaxAge: 3600 }), responseCache()];
const server = new ApolloServer({ typeDefs, resolvers, plugins });
await startStandaloneServer(server, { listen: { port: Number(process.env.PORT), host: '127.0.0.1' } });
`;

/** Other servers, over a schema of the same shape whose resolvers read everything from memory. */
const programs = {
  yoga: yoga(''),
  'yoga-cache': yoga('useResponseCache({ session: () => null })'),
  'apollo-cache': apollo,
};

/** One of the servers that the gateway is compared with. */
export type Peer = keyof typeof programs;

/** Starts a peer that answers the dashboard with what `answer` says; `folder` is that of `installPeers`. */
export function startPeer(peer: Peer, folder: string, answer: string): Promise<Server> {
  // Runs of several checkouts share the folder.
  const name = `bench-${peer}-${process.pid}.mjs`;
  return startText(name, programs[peer], { ANSWER: answer }, { folder });
}

/**
 * Installs the peers' packages into a folder for temporary files, unless an earlier run did. The project does not
 * depend on them: each would be one more that everybody installs. `null` where they cannot be had.
 */
export function installPeers(): string | null {
  const folder = join(tmpdir(), `bench-peers-${hash('sha256', PACKAGES.join()).slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  // What an install that was broken off leaves must not pass for a whole one.
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished);
  try {
    const flags = ['--prefix', unfinished, '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', ['install', ...flags, ...PACKAGES], {
      stdio: 'ignore',
      timeout: INSTALL_MS,
    });
    renameSync(unfinished, folder);
    return folder;
  } catch {
    rmSync(unfinished, { recursive: true, force: true });
    return existsSync(folder) ? folder : null;
  }
}
