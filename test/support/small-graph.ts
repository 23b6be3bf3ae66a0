import { GraphQLError, GraphQLScalarType, type GraphQLSchema } from 'graphql';
import { createSchema, type Plugin } from 'graphql-yoga';
import { BadUserInput, BudgetExhausted, GatewayError } from '../../src/errors.ts';
import { createMaskError } from '../../src/graphql/mask-error.ts';
import { useRequests } from '../../src/graphql/requests/use-requests.ts';
import { createGraphqlServer, type GraphqlServer } from '../../src/graphql/yoga.ts';
import { BodyPool } from '../../src/http/door/body/body-pool.ts';
import { anyDoor } from './any-door.ts';

/** One error, broken into many fields: what a shared call does when it fails. */
export const shared = new Error('connect ECONNREFUSED https://secret.example/?api_key=s3cret');

const throwing = (error: () => unknown) => (): never => {
  throw error();
};

/** A graph with a field for every way in which a field can go wrong, and a few that do not. */
function smallSchema(gate: Promise<unknown> = Promise.resolve()): GraphQLSchema {
  return createSchema({
    typeDefs: /* GraphQL */ `
      scalar Odd
      type Query {
        hello(name: String): String
        slow: String
        gateway: String
        budget: String
        internal: String
        plain: String
        again: String
        aborted: String
        foreign: String
        number: Int
        required: Query!
        odd(value: Odd): String
        count(first: Int!): Int
      }
      type Mutation {
        write: String
      }
    `,
    resolvers: {
      Odd: new GraphQLScalarType({
        name: 'Odd',
        parseValue: throwing(() => new BadUserInput('not odd')),
        parseLiteral: throwing(() => new BadUserInput('not odd')),
      }),
      Query: {
        hello: (_: unknown, { name }: { name?: string }) => `hello ${name ?? 'world'}`,
        slow: async () => {
          await gate;
          return 'done';
        },
        gateway: throwing(() => new BadUserInput('Give a smaller first.', { field: 'first' })),
        budget: throwing(() => new BudgetExhausted('LINKS', 1500, new Date(0))),
        internal: throwing(() => new GatewayError('INTERNAL_SERVER_ERROR', 'at /srv/app.js')),
        plain: throwing(() => shared),
        again: throwing(() => shared),
        aborted: throwing(() => new DOMException('gone', 'AbortError')),
        foreign: throwing(() => new GraphQLError('row 7 of table users', { extensions: {} })),
        number: () => 'secret text',
        required: () => null,
        odd: () => 'even',
        count: (_: unknown, { first }: { first: number }) => first,
      },
      Mutation: { write: () => 'written' },
    },
  });
}

/** The small graph behind the real server, with everything that was reported as unexpected. */
export function smallServer(
  options: {
    corsOrigins?: readonly string[];
    gate?: Promise<unknown>;
    createContext?: () => object;
  } = {},
): { server: GraphqlServer<object>; unexpected: unknown[] } {
  const unexpected: unknown[] = [];
  const server = createGraphqlServer({
    schema: smallSchema(options.gate),
    createContext: options.createContext ?? (() => ({})),
    maskError: createMaskError((error) => unexpected.push(error)),
    plugins: [
      useRequests({
        bodyPool: new BodyPool(),
        bodyLimits: { maxBodyBytes: 1000 },
        door: anyDoor(options.corsOrigins),
      }) as unknown as Plugin,
    ],
  });
  return { server, unexpected };
}

/** What any GraphQL answer looks like to a test. */
export interface Answer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions?: Readonly<Record<string, unknown>>;
  }[];
}

/** Sends one operation as a program would and reads the answer. */
export async function ask(
  server: GraphqlServer<object>,
  query: string,
  variables?: Record<string, unknown>,
): Promise<Answer & { status: number; text: string }> {
  const response = await server.fetch('http://gateway/graphql', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json',
    },
    body: JSON.stringify({ query, variables }),
  });
  const text = await response.text();
  return { ...(JSON.parse(text) as Answer), status: response.status, text };
}
