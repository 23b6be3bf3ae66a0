import { useDeferStream } from '@graphql-yoga/plugin-defer-stream';
import { createSchema, type Plugin } from 'graphql-yoga';
import { describe, expect, it } from 'vitest';
import { BadUserInput } from '../../src/errors.ts';
import { createMaskError } from '../../src/graphql/mask-error.ts';
import { createGraphqlServer } from '../../src/graphql/yoga.ts';

const DEFECT = new Error('connect ECONNREFUSED https://secret.example/?api_key=s3cret');

const schema = createSchema({
  typeDefs: /* GraphQL */ `
    type Query {
      hello: String
      deep: Deep
    }
    type Deep {
      list: [String]
      broken: String
      refused: String
    }
  `,
  resolvers: {
    Query: { hello: () => 'hello', deep: () => ({}) },
    Deep: {
      list: async function* () {
        yield 'first';
        throw DEFECT;
      },
      broken: () => {
        throw DEFECT;
      },
      refused: () => {
        throw new BadUserInput('Give a smaller first.', { field: 'first' });
      },
    },
  },
});

/** The parts of an answer, and the defects that were told to the operator. */
async function ask(query: string): Promise<{ text: string; unexpected: unknown[] }> {
  const unexpected: unknown[] = [];
  const server = createGraphqlServer({
    schema,
    createContext: () => ({}),
    plugins: [useDeferStream() as Plugin],
    maskError: createMaskError((error) => unexpected.push(error)),
  });
  const answer = await server.fetch('http://gateway/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'multipart/mixed' },
    body: JSON.stringify({ query }),
  });
  return { text: await answer.text(), unexpected };
}

describe('An error in a part that comes later', () => {
  it.each([
    '{ hello deep { ... @defer { broken } } }',
    '{ hello ... @defer { deep { broken } } }',
    '{ hello deep { list @stream(initialCount: 1) } }',
  ])('says nothing of the inside, and is reported once: %s', async (query) => {
    const { text, unexpected } = await ask(query);
    expect(text).toContain('"hasNext":true');
    expect(text).toContain('Internal error. The log of the gateway has the cause.');
    expect(text).toContain('"code":"INTERNAL_SERVER_ERROR"');
    expect(text).not.toMatch(/secret|s3cret|ECONNREFUSED/);
    expect(unexpected).toEqual([DEFECT]);
  });

  it('keeps its code and details where it was written for callers', async () => {
    const { text, unexpected } = await ask('{ hello deep { ... @defer { refused } } }');
    expect(text).toContain('"message":"Give a smaller first."');
    expect(text).toContain('"code":"BAD_USER_INPUT"');
    expect(text).toContain('"field":"first"');
    expect(unexpected).toEqual([]);
  });

  it('in the first part is reported once as well', async () => {
    const { text, unexpected } = await ask('{ deep { broken ... @defer { refused } } }');
    expect(text).not.toMatch(/secret|s3cret/);
    expect(text).toContain('Give a smaller first.');
    expect(unexpected).toEqual([DEFECT]);
  });
});
