import { getNamedType, isObjectType, isRequiredArgument } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { schema } from '../../src/schema.ts';
import { PLENTY, startWorld } from '../support/gateway.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ limit: { requests: PLENTY } } satisfies SandboxOptions);
});
afterAll(() => sandbox.close());

/** The root fields that promise to be null with an error only, and a selection on each. */
const promised = Object.values(schema.getQueryType()?.getFields() ?? {})
  .filter(({ extensions }) => Object.hasOwn(extensions['directives'] ?? {}, 'semanticNonNull'))
  .map(({ args, name, type }) => {
    const named = getNamedType(type);
    const fields = isObjectType(named) ? named.getFields() : {};
    // The choice of a list is the only argument that is required of them.
    const list = args.some((arg) => isRequiredArgument(arg)) ? '(list: FILES)' : '';
    return { name, list, selection: 'nodes' in fields ? 'nodes { __typename }' : '__typename' };
  });

/** What an upstream can answer in the place of what was asked for. */
const answers: readonly [what: string, body: unknown, status?: number][] = [
  ['an empty object', {}],
  ['success and no more', { error: 0 }],
  ['success with nothing in it', { error: 0, data: null }],
  ['success with an empty list', { error: 0, data: [] }],
  ['success with an empty object', { error: '0', data: {}, status: 'success' }],
  ['no rows', { error: 0, data: { result: 0, perpage: 100, currentpage: 1, maxpage: 0 } }],
  ['a list of nothing', { error: 0, data: [null], plans: [null], items: [null] }],
  ['an empty list', []],
  ['nothing', null],
  ['a text', 'soon'],
  ['that there is none', { error: 1, message: 'Not found' }],
  ['404 with a message', { status: 'error', msg: 'No items found' }, 404],
  ['404 and no more', {}, 404],
  ['an outage', 'down', 500],
];

describe('A field that is marked as null only with an error', () => {
  it('is there for each list and account that needs no argument, and the history of any list', () => {
    const free = Object.values(schema.getQueryType()?.getFields() ?? {})
      .filter(
        ({ args, type }) =>
          args.every((arg) => !String(arg.type).endsWith('!')) && !String(type).endsWith('!'),
      )
      .map(({ name }) => name);
    const all = [...free, 'totalCountHistory'];
    expect(promised.map(({ name }) => name).toSorted()).toEqual(all.toSorted());
  });

  it.each(answers)('is, whenever an API answers %s', async (...[, body, status = 200]) => {
    for (const api of [sandbox.links, sandbox.market]) {
      api.fault({ kind: 'answer', rewrite: (answer) => ({ ...answer, status, body }) });
    }
    const world = await startWorld({ on: sandbox });
    const query = promised
      .map(({ list, name, selection }) => `${name}${list} { ${selection} }`)
      .join(' ');
    const { data, errors } = await world.ask(`{ ${query} }`);
    await world.close();
    sandbox.reset();
    const explained = new Set(errors.map(({ path }) => path?.[0]));
    const silent = promised.filter(({ name }) => data[name] === null && !explained.has(name));
    expect(silent.map(({ name }) => name)).toEqual([]);
  });
});
