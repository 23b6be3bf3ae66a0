import { describe, expect, it } from 'vitest';
import { code, file, operation, preflighted, type Reply, UploadStage } from './upload-stage.ts';

const stage = new UploadStage();

describe('a multipart request', () => {
  const operations = JSON.stringify({ query: operation, variables: { input: { file: null } } });
  const map = '{"0":["variables.input.file"]}';
  const part = file('a.txt', 'x');

  it('needs a header that no form of another page can send', async () => {
    const parts = [
      ['operations', operations] as const,
      ['map', map] as const,
      ['0', part] as const,
    ];
    const reply = await stage.send(parts, { headers: {} });
    expect([reply.status, code(reply)]).toEqual([403, 'FORBIDDEN']);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each<[string, [string, string | File][]]>([
    [
      'without operations',
      [
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are no JSON',
      [
        ['operations', '{'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are null',
      [
        ['operations', 'null'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a text',
      [
        ['operations', '"a"'],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a list',
      [
        ['operations', `[${operations}]`],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose operations are a file',
      [
        ['operations', part],
        ['map', map],
        ['0', part],
      ],
    ],
    [
      'whose map is no JSON',
      [
        ['operations', operations],
        ['map', '{'],
        ['0', part],
      ],
    ],
    [
      'whose map is a file',
      [
        ['operations', operations],
        ['map', part],
        ['0', part],
      ],
    ],
    [
      'whose map holds no lists',
      [
        ['operations', operations],
        ['map', '{"0":1}'],
        ['0', part],
      ],
    ],
    [
      'whose map holds no paths',
      [
        ['operations', operations],
        ['map', '{"0":[1]}'],
        ['0', part],
      ],
    ],
    [
      'without a map',
      [
        ['operations', operations],
        ['0', part],
      ],
    ],
    [
      'without its file',
      [
        ['operations', operations],
        ['map', map],
      ],
    ],
    [
      'with a text for a file',
      [
        ['operations', operations],
        ['map', map],
        ['0', 'x'],
      ],
    ],
    [
      'with a file in the wrong place',
      [
        ['operations', operations],
        ['map', '{"0":["variables.__proto__.file"]}'],
        ['0', part],
      ],
    ],
  ])('%s is the caller’s mistake', async (_, parts) => {
    const reply = await stage.send(parts);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each([
    ['that ends too early', 'multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form'],
    ['without a boundary', 'multipart/form-data', 'anything'],
    ['of another boundary', 'multipart/form-data; boundary=x', '--y\r\n\r\n--y--'],
    ['without a body', 'multipart/form-data; boundary=x', ''],
  ])('%s is the caller’s mistake', async (_, type, body) => {
    const headers = { ...preflighted, 'content-type': type };
    const response = await fetch(`${stage.url}/graphql`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(code((await response.json()) as Reply)).toBe('BAD_USER_INPUT');
  });

  it.each<[string, unknown, Record<string, unknown>?]>([
    ['makes a list of four billion', { '0': ['variables.i.4000000000'] }, { i: [] }],
    ['is behind the end of a list', { '0': ['variables.i.1'] }, { i: [null] }],
    ['is the length of a list', { '0': ['variables.i.length'] }, { i: [] }],
    ['is not there', { '0': ['variables.input.other'] }],
    ['is taken', { '0': ['variables.input.name'] }, { input: { file: null, name: 'a' } }],
    ['leads through a text', { '0': ['variables.input.name.0'] }, { input: { name: 'a' } }],
    ['is every object’s own', { '0': ['variables.__proto__.file'] }],
    ['is where all objects end', { '0': ['variables.__proto__.__proto__'] }],
    ['is every object’s constructor', { '0': ['variables.constructor.prototype.file'] }],
    ['is the operation', { '0': ['query'] }],
    ['is none of the variables', { '0': ['extensions'] }],
    ['is all the variables', { '0': ['variables'] }],
    ['is empty', { '0': [''] }],
    ['is long', { '0': [`variables.${'a.'.repeat(1000)}a`] }],
    ['is longer than any', { '0': [`variables.${'a.'.repeat(100_000)}a`] }],
    ['is the same twice', { '0': ['variables.input.file', 'variables.input.file'] }],
    ['is that of another file', { '0': ['variables.input.file'], '1': ['variables.input.file'] }],
    ['is one of eleven', { '0': Array(11).fill('variables.input.file') }],
    ['is none', { '0': [] }],
    ['is for a part that is no file', { operations: ['variables.input.file'] }],
    ['stands in a list', [['variables.input.file']]],
  ])('whose map leads to a place that %s is refused', async (_, places, variables) => {
    const sent = { query: operation, variables: variables ?? { input: { file: null } } };
    // No part that the map leaves out, which would be refused for that.
    const files = ['0', '1'].filter((name) => Object.hasOwn(places as object, name));
    const reply = await stage.send([
      ['operations', JSON.stringify(sent)],
      ['map', JSON.stringify(places)],
      ...files.map((name): [string, File] => [name, part]),
    ]);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    const { message = '' } = reply.errors?.[0] ?? {};
    expect(message).toMatch(
      /^The multipart request cannot be parsed: (?!the part|its parts).*(map|null|file)/,
    );
    expect(message.length).toBeLessThan(300);
    expect(Object.hasOwn(Object.prototype, 'file')).toBe(false);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each<[string, string, string[]]>([
    ['a name twice', '{"0":["variables.input.file"],"0":["variables.input.file"]}', ['0']],
    ['not all of its files', map, ['0', '1']],
    ['more files than it has', '{"0":["variables.input.file"],"1":["variables.input.x"]}', ['0']],
    ['eleven files', map, Array.from({ length: 11 }, (_, n) => String(n))],
    ['far too many blanks', `{"0":["variables.input.file"${' '.repeat(390_000)}]}`, ['0']],
  ])('whose map has %s is refused', async (_, text, names) => {
    const files = names.map((name) => [name, part] as const);
    const reply = await stage.send([['operations', operations], ['map', text], ...files]);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each<[string, string, [string, string | File][], string]>([
    ['a third text', map, [['more', 'text']], 'at most ten files'],
    [
      'hundreds of files',
      map,
      Array.from({ length: 500 }, (_, n) => [`more-${n}`, part]),
      'at most ten files',
    ],
    ['a file for no place', '{"0":[]}', [], 'must be a list of paths'],
    ['a list for a map', '[["variables.input.file"]]', [], 'must be a JSON object'],
  ])('with %s is refused before it is looked at any further', async (_, text, more, why) => {
    const reply = await stage.send([
      ['operations', operations],
      ['map', text],
      ['0', part],
      ...more,
    ]);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(reply.errors?.[0]?.message).toContain(why);
    expect(stage.world.calls()).toEqual([]);
  });

  it.each([
    ['operationName', { operationName: null }],
    ['extensions.file', { extensions: { file: null } }],
    // A null is there, but no variable is that deep.
    [
      `variables.${'a.'.repeat(100)}a`,
      { variables: JSON.parse(`${'{"a":'.repeat(101)}null${'}'.repeat(101)}`) },
    ],
  ])('puts no file in the place of the null at %s', async (place, more) => {
    const reply = await stage.send([
      ['operations', JSON.stringify({ query: '{ __typename }', ...more })],
      ['map', JSON.stringify({ '0': [place] })],
      ['0', part],
    ]);
    expect([reply.status, code(reply)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(reply.errors?.[0]?.message).toMatch(
      /must (point to a null value in|be a list of paths)/,
    );
  });

  it('may have ten places for files', async () => {
    const more = Array.from({ length: 9 }, () => null);
    const places = ['variables.input.file', ...more.map((_, n) => `variables.more.${n}`)];
    const reply = await stage.send([
      [
        'operations',
        JSON.stringify({ query: operation, variables: { input: { file: null }, more } }),
      ],
      ['map', JSON.stringify({ '0': places })],
      ['0', part],
    ]);
    expect(reply.errors).toBeUndefined();
    expect(stage.received()).toHaveLength(1);
  });

  it('may have its parts in any order, and one file in two places', async () => {
    const twice = operation
      .replace('uploadFile(', 'other: uploadFile(input: $more) { __typename } uploadFile(')
      .replace('$input:', '$more: UploadFileInput!, $input:');
    const input = { file: null };
    const reply = await stage.send([
      ['0', part],
      ['map', '{"0":["variables.input.file","variables.more.file"]}'],
      ['operations', JSON.stringify({ query: twice, variables: { input, more: input } })],
    ]);
    expect(reply.errors).toBeUndefined();
    expect(reply.data).toMatchObject({ other: { __typename: 'File' } });
    expect(stage.received()).toHaveLength(2);
  });
});
