import { isNonNullType } from 'graphql';
import { expect, it } from 'vitest';
import { schema } from '../../../src/schema.ts';
import { KeyedStage, type Reply } from './keyed-stage.ts';

const stage = new KeyedStage();
const creation = (name: string) =>
  `createChannel(input: { name: "${name}" }) { ... on Channel { databaseId name } }`;
const THREE = `mutation { one: ${creation('One')} two: ${creation('Two')} three: ${creation('Three')} }`;

/** Answers the second of the next writes, which has happened, with another status and body. */
function answerSecond(status: number, body: unknown): void {
  let writes = 0;
  stage.world.sandbox.links.fault({
    kind: 'answer',
    method: 'POST',
    rewrite: (answer) => {
      writes += 1;
      return writes === 2 ? { ...answer, status, body } : answer;
    },
  });
}

it('each mutation field can fail alone', () => {
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {});
  expect(fields.length).toBeGreaterThan(20);
  expect(fields.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual([]);
});

it.each([null, 'one-key'])(
  'fields before and after one that fails have their results, with the key %s',
  async (key) => {
    answerSecond(502, 'down');
    const headers = { prefer: 'wait=0', ...(key !== null && { 'idempotency-key': key }) };
    const { data, errors, status } = await stage.world.ask(THREE, {}, headers);
    expect(status).toBe(200);
    expect(errors).toMatchObject([{ path: ['two'], extensions: { code: 'OUTCOME_UNKNOWN' } }]);
    const made = await stage.rows('/api/channels', 'channels');
    const idOf = (name: string) => Number(made.find((row) => row['name'] === name)?.['id']);
    expect(data).toEqual({
      one: { databaseId: idOf('One'), name: 'One' },
      two: null,
      three: { databaseId: idOf('Three'), name: 'Three' },
    });
  },
);

it('a retry with the key repeats only the field that has failed', async () => {
  answerSecond(403, { error: 1, message: 'No.' });
  const send = () =>
    stage.world.gateway.fetch(
      new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'one-key' },
        body: JSON.stringify({ query: THREE }),
      }),
    );
  const first = (await (await send()).json()) as Reply;
  expect(first.errors).toMatchObject([
    { path: ['two'], extensions: { code: 'UPSTREAM_FORBIDDEN' } },
  ]);
  const { data, errors, extensions } = (await (await send()).json()) as Reply;
  expect(errors).toBeUndefined();
  expect(data).toMatchObject({ ...first.data, two: { name: 'Two' } });
  expect(extensions.idempotency?.map(({ outcome }) => outcome)).toEqual([
    'REPLAYED',
    'EXECUTED',
    'REPLAYED',
  ]);
  expect(stage.world.calls().filter((call) => call.startsWith('POST'))).toHaveLength(4);
});
