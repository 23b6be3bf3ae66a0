import { GraphQLError, GraphQLScalarType } from 'graphql';
import { createSchema, type Plugin } from 'graphql-yoga';
import { describe, expect, it } from 'vitest';
import { BadUserInput, BudgetExhausted, GatewayError } from '../../src/errors.ts';
import { createMaskError } from '../../src/graphql/mask-error.ts';
import { useRequests } from '../../src/graphql/requests/use-requests.ts';
import { createGraphqlServer, type GraphqlServer } from '../../src/graphql/yoga.ts';
import { BodyPool } from '../../src/http/door/body/body-pool.ts';
import { anyDoor } from '../support/any-door.ts';

/** One error, broken into many fields: what a shared call does when it fails. */
const shared = new Error('connect ECONNREFUSED https://secret.example/?api_key=s3cret');

const throwing = (error: () => unknown) => (): never => {
  throw error();
};

/** A graph with a field for every way in which a field can go wrong, and a few that do not. */
const schema = createSchema({
  typeDefs: /* GraphQL */ `
      scalar Odd
      type Query {
        hello(name: String): String
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
    `,
  resolvers: {
    Odd: new GraphQLScalarType({
      name: 'Odd',
      parseValue: throwing(() => new BadUserInput('not odd')),
      parseLiteral: throwing(() => new BadUserInput('not odd')),
    }),
    Query: {
      hello: (_: unknown, { name }: { name?: string }) => `hello ${name ?? 'world'}`,
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
  },
});

/** The small graph behind the real server, with everything that was reported as unexpected. */
function smallServer(createContext: () => object = () => ({})) {
  const unexpected: unknown[] = [];
  const server = createGraphqlServer({
    schema,
    createContext,
    maskError: createMaskError((error) => unexpected.push(error)),
    plugins: [
      useRequests({
        bodyPool: new BodyPool(),
        bodyLimits: { maxBodyBytes: 1000 },
        door: anyDoor(),
      }) as unknown as Plugin,
    ],
  });
  return { server, unexpected };
}

interface Answer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions?: Readonly<Record<string, unknown>>;
  }[];
}

async function ask(
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

describe('an error of a field', () => {
  it('shows a GatewayError with its code and details, and leaves the other fields intact', async () => {
    const { server, unexpected } = smallServer();
    const answer = await ask(server, '{ gateway budget hello }');
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ gateway: null, budget: null, hello: 'hello world' });
    expect(answer.errors).toMatchObject([
      {
        message: 'Give a smaller first.',
        path: ['gateway'],
        extensions: { code: 'BAD_USER_INPUT', field: 'first' },
      },
      {
        path: ['budget'],
        extensions: {
          code: 'BUDGET_EXHAUSTED',
          upstream: 'LINKS',
          retryAfterMs: 1500,
          availableAt: '1970-01-01T00:00:00.000Z',
        },
      },
    ]);
    expect(unexpected).toEqual([]);
  });

  it.each(['plain', 'internal', 'foreign', 'number', 'required { hello }'])(
    'says nothing of %s but its place, and reports it',
    async (field) => {
      const { server, unexpected } = smallServer();
      const answer = await ask(server, `{ ${field} }`);
      expect(answer.errors).toEqual([
        {
          message: 'Internal error. The log of the gateway has the cause.',
          locations: [{ line: 1, column: 3 }],
          path: [field.split(' ')[0]],
          extensions: { code: 'INTERNAL_SERVER_ERROR' },
        },
      ]);
      expect(answer.text).not.toMatch(/secret|s3cret|srv|row 7|stack/);
      expect(unexpected).toHaveLength(1);
    },
  );

  it('is reported once, however many fields it broke', async () => {
    const { server, unexpected } = smallServer();
    const answer = await ask(server, '{ plain again }');
    expect(answer.errors).toHaveLength(2);
    expect(unexpected).toEqual([shared]);
  });

  it('is not reported when the request was only aborted', async () => {
    const { server, unexpected } = smallServer();
    const answer = await ask(server, '{ aborted }');
    expect(answer.data).toEqual({ aborted: null });
    expect(answer.errors).toMatchObject([{ extensions: { code: 'CANCELED' } }]);
    expect(unexpected).toEqual([]);
  });
});

describe('a request that cannot be executed', () => {
  it.each([
    ['{ hello', 'GRAPHQL_PARSE_FAILED'],
    ['{ hullo }', 'GRAPHQL_VALIDATION_FAILED'],
    ['{ count(first: "x") }', 'GRAPHQL_VALIDATION_FAILED'],
    ['query A { hello } query B { hello }', 'BAD_USER_INPUT'],
    ['query ($n: Int!) { count(first: $n) }', 'BAD_USER_INPUT'],
  ])('%s is refused as %s', async (query, code) => {
    const { server, unexpected } = smallServer();
    const answer = await ask(server, query);
    expect(answer.status).toBe(400);
    expect(answer.errors?.[0]?.extensions).toEqual({ code });
    expect(answer).not.toHaveProperty('data');
    expect(unexpected).toEqual([]);
  });

  it('names the variable that a custom scalar refuses', async () => {
    const { server, unexpected } = smallServer();
    const answer = await ask(server, 'query ($v: Odd) { odd(value: $v) }', { v: 2 });
    expect(answer.status).toBe(400);
    expect(answer.errors?.[0]?.message).toMatch(/Variable "\$v".*not odd/);
    expect(answer.errors?.[0]?.extensions).toEqual({ code: 'BAD_USER_INPUT' });
    expect(unexpected).toEqual([]);
  });

  it('has the status of its code when its context cannot be made', async () => {
    const { server } = smallServer(() => {
      throw new GatewayError('UNAUTHENTICATED', 'Send a token.');
    });
    const answer = await ask(server, '{ hello }');
    expect(answer.status).toBe(401);
    expect(answer.errors).toEqual([
      { message: 'Send a token.', extensions: { code: 'UNAUTHENTICATED' } },
    ]);
  });
});
