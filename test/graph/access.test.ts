import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { roles } from '../../src/auth/viewer.ts';
import { access } from '../../src/graph/access.ts';
import { schema } from '../../src/schema.ts';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { tokenFile } from '../support/folder.ts';

const scalars: Readonly<Record<string, unknown>> = {
  ID: '1',
  Int: 1,
  Float: 1,
  Boolean: true,
  String: 'sample',
  Date: '2031-01-01',
  DateTime: '2031-01-01T00:00:00Z',
  JSONObject: {},
};

/** Some value that fits a type, with no more in it than must be. */
function sampleOf(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return sampleOf(type.ofType);
  if (isListType(type)) return [sampleOf(type.ofType)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (!isInputObjectType(type)) return scalars[type.name];
  const fields = Object.values(type.getFields());
  const wanted = type.isOneOf
    ? fields.slice(0, 1)
    : fields.filter((each) => isNonNullType(each.type));
  return Object.fromEntries(wanted.map((each) => [each.name, sampleOf(each.type)]));
}

let door: Door;
beforeAll(async () => {
  const file = tokenFile(...roles.map((role) => ({ name: role, role })));
  door = await openDoor({
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: file,
    EXPOSE_USER_API_KEYS: 'true',
  });
});

type Root = 'Query' | 'Mutation';

const rootFields = (['Query', 'Mutation'] as const).flatMap((root) => {
  const type = schema.getType(root);
  const fields = isObjectType(type) ? Object.values(type.getFields()) : [];
  return fields.map((field) => [root, field.name, field] as const);
});

/** Asks for a root field with arguments that fit, as the bearer of the token of a role. */
function askFor(
  root: Root,
  { name, args, type }: GraphQLField<unknown, unknown>,
  token: string,
): Promise<Reply> {
  const wanted = args.filter((arg) => isNonNullType(arg.type) && arg.defaultValue === undefined);
  const variables = Object.fromEntries(wanted.map((arg) => [arg.name, sampleOf(arg.type)]));
  const declared = wanted.map((arg) => `$${arg.name}: ${arg.type.toString()}`).join(', ');
  const passed = wanted.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
  const selection = isCompositeType(getNamedType(type)) ? '{ __typename }' : '';
  const query = `${root.toLowerCase()} ${declared && `(${declared})`} { ${name}${passed && `(${passed})`} ${selection} }`;
  if (name !== 'uploadFile') return door.ask(query, token, { variables });
  const body = new FormData();
  body.set('operations', JSON.stringify({ query, variables: { input: { file: null } } }));
  body.set('map', '{"0":["variables.input.file"]}');
  body.set('0', new Blob(['hello']), 'hello.txt');
  const headers = { authorization: `Bearer ${token}`, 'apollo-require-preflight': 'true' };
  return door.send('/graphql', { method: 'POST', headers, body });
}

describe.each(rootFields)('%s.%s', (root, name, field) => {
  const needed = access[`${root}.${name}`];

  it('has a rule, and says so', () => {
    expect(roles).toContain(needed);
    expect(field.description).toContain(`Requires role \`${needed}\`.`);
  });

  const lower = roles.slice(0, roles.indexOf(needed ?? 'viewer'));
  it.each(lower)('is refused to a %s, without an upstream call', async (role) => {
    const before = door.calls();
    const { errors, code } = await askFor(root, field, role);
    expect(code).toBe('FORBIDDEN');
    expect(errors[0]?.message).toBe(
      `${root}.${name} requires role \`${needed}\`; your role is \`${role}\`.`,
    );
    expect(door.calls()).toBe(before);
  });

  it('is open to a caller that has the role', async () => {
    const { errors, data } = await askFor(root, field, needed ?? '');
    expect(data).toBeDefined();
    expect(errors.map(({ extensions }) => extensions?.code)).not.toContain('FORBIDDEN');
  });
});

describe('the table of roles', () => {
  it('has no rule for what does not exist', () => {
    for (const place of Object.keys(access)) {
      const [typename = '', field] = place.split('.');
      const type = schema.getType(typename);
      const found = isObjectType(type) && (field === undefined || field in type.getFields());
      expect(found, place).toBe(true);
    }
  });

  it.each(['User', 'Plan'])('keeps every field of a %s to admins', (typename) => {
    const type = schema.getType(typename);
    for (const field of isObjectType(type) ? Object.values(type.getFields()) : []) {
      expect(field.description, field.name).toContain('Requires role `admin`.');
    }
  });
});

describe.each(['plan { id }', 'usage { used }'])('Account.%s', (selection) => {
  const [name] = selection.split(' ');

  it.each(['viewer', 'editor'])('is refused to a %s, who still sees the account', async (role) => {
    const before = door.calls();
    const { data, errors } = await door.ask(`{ account { username ${selection} } }`, role);
    expect(data).toEqual({ account: { username: expect.any(String), [name ?? '']: null } });
    expect(errors).toMatchObject([{ path: ['account', name], extensions: { code: 'FORBIDDEN' } }]);
    expect(door.calls() - before).toBeLessThanOrEqual(1);
  });

  it('is open to an admin', async () => {
    expect((await door.ask(`{ account { ${selection} } }`, 'admin')).errors).toEqual([]);
  });
});

describe.each(['User', 'Plan'])('a %s', (typename) => {
  const id = Buffer.from(`${typename}:1`).toString('base64url');

  it.each(['viewer', 'editor'])('is not found by its id by a %s', async (role) => {
    const before = door.calls();
    const { code, errors } = await door.ask(`{ node(id: "${id}") { id } }`, role);
    expect([code, errors[0]?.message]).toEqual([
      'FORBIDDEN',
      `Looking up a ${typename} by its ID requires role \`admin\`; your role is \`${role}\`.`,
    ]);
    expect(door.calls()).toBe(before);
  });

  it('is left out among others that a viewer may find', async () => {
    const other = Buffer.from('Campaign:999999').toString('base64url');
    const query = `{ nodes(ids: ["${id}", "${other}"]) { id } }`;
    const { data, errors } = await door.ask(query, 'viewer');
    expect(data).toEqual({ nodes: [null, null] });
    expect(errors).toMatchObject([{ path: ['nodes', 0], extensions: { code: 'FORBIDDEN' } }]);
  });

  it('is found by an admin', async () => {
    const { errors } = await door.ask(`{ node(id: "${id}") { id } }`, 'admin');
    expect(errors).toEqual([]);
  });
});

it('An update with `expected` is refused to a viewer before anything is read', async () => {
  const before = door.calls();
  const mutation =
    'mutation { updateChannel(input: { id: 1, name: "x" }, expected: { name: "y" }) { __typename } }';
  expect((await door.ask(mutation, 'viewer')).code).toBe('FORBIDDEN');
  expect(door.calls()).toBe(before);
});
