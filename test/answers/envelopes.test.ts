import { Agent, request } from 'node:http';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Door, openDoor } from '../support/door.ts';
import { openSandbox } from '../support/gateway.ts';
import { rounds } from '../support/rounds.ts';

/** A request as it goes over the wire. */
interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

const types = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json ; charset=utf-8',
  'application/json;',
  'application/json; charset="utf-8"; a=b',
  'application/json, text/plain',
  'application/jsonx',
  'application/json-patch+json',
  'application/json/x',
  'application/json charset=utf-8',
  'application/graphql+json',
  'application/graphql-response+json',
  'application/graphql',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/json',
  'text/plain',
  'application/JSON',
  'Application/Json;Charset=UTF-8',
  ' application/json',
  'application/json\t',
];

const accepts = [
  'application/json',
  'application/graphql-response+json',
  '*/*',
  'application/json;q=0',
  'text/html',
  'APPLICATION/JSON',
  'multipart/mixed',
];

/** What a member of an envelope is set to, beside what belongs there; as JSON. */
const odd = ['null', '""', '"x"', '0', '5', 'true', '[]', '[1]', '{}', '{"a":1}', '"{}"', '"[]"'];

const names = [
  'query',
  'operationName',
  'variables',
  'extensions',
  'documentId',
  'doc_id',
  'id',
  'extra',
  '__proto__',
  'constructor',
];

interface Change {
  readonly name: string;
  readonly value: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  name: fc.constantFrom(...names),
  value: fc.constantFrom(...odd, '"A"'),
});

/** How an envelope is written: what is changed of it, before or behind the rest, and what stands around it. */
const shape = fc.record({
  method: fc.constantFrom('POST' as const, 'GET' as const),
  type: fc.oneof(
    { weight: 2, arbitrary: fc.constant('application/json') },
    { weight: 1, arbitrary: fc.constantFrom(...types) },
  ),
  accept: fc.constantFrom(...accepts),
  before: fc.array(change, { maxLength: 1 }),
  behind: fc.array(change, { maxLength: 2 }),
  around: fc.constantFrom(
    ['', ''],
    ['\uFEFF', ''],
    [' \r\n\t', '\n'],
    ['[', ']'],
    ['', '{}'],
    ['', '\0'],
    ['{"a":', '}'],
    ['"', '"'],
  ),
  named: fc.boolean(),
});

type Shape = typeof shape extends fc.Arbitrary<infer S> ? S : never;

const plain: Shape = {
  method: 'POST',
  type: 'application/json',
  accept: 'application/json',
  before: [],
  behind: [],
  around: ['', ''],
  named: false,
};

function envelope(
  query: string,
  { method, type, accept, before, behind, around, named }: Shape,
): Sent {
  const own = [
    { name: 'query', value: JSON.stringify(query) },
    ...(named ? [{ name: 'operationName', value: '"A"' }] : []),
  ];
  const members = [...before, ...own, ...behind];
  if (method === 'POST') {
    const json = `{${members.map(({ name, value }) => `${JSON.stringify(name)}:${value}`).join()}}`;
    const body = around[0] + json + around[1];
    return { method, path: '/graphql', headers: { accept, 'content-type': type }, body };
  }
  const pairs = members.map(({ name, value }) => {
    const isText = name !== 'variables' && name !== 'extensions' && value.startsWith('"');
    return [name, isText ? String(JSON.parse(value)) : value] as [string, string];
  });
  const path = `/graphql?${new URLSearchParams(pairs)}`;
  return { method, path, headers: { accept } };
}

/** Keeps connections: to open one costs more than a request. */
let agent: Agent;

/** Sends a request byte for byte, and returns the parts of its answer that must not depend on earlier requests. */
async function answer(door: Door, { method, path, headers, body }: Sent): Promise<string> {
  const { port } = new URL(door.url);
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers: { ...headers }, agent },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => {
          const told = ['content-type', 'cache-control', 'etag', 'vary', 'allow', 'age'].map(
            (name) => `${name}: ${String(response.headers[name])}`,
          );
          resolve([response.statusCode, ...told, Buffer.concat(pieces).toString()].join('\n'));
        });
      },
    );
    sent.on('error', reject);
    if (body !== undefined) sent.setHeader('content-length', Buffer.byteLength(body));
    sent.end(body);
  });
}

describe('An envelope', () => {
  let sandbox: Sandbox;
  let warm: Door;
  let cold: Door;
  let texts = 0;

  beforeAll(async () => {
    agent = new Agent({ keepAlive: true });
    sandbox = await openSandbox();
    warm = await openDoor({ AUTH_MODE: 'none' }, { on: sandbox });
    cold = await openDoor({ AUTH_MODE: 'none' }, { on: sandbox });
    for (const door of [warm, cold]) await door.ask('{ account { username } }');
  });
  afterAll(async () => {
    agent.destroy();
    await sandbox.close();
  });

  /** A text that no gateway has seen, of which one field is cached. */
  const newText = () => {
    texts += 1;
    return `query A { account { username } } # ${texts}`;
  };

  /** Asks for a text in the usual ways until it is answered from memory. */
  async function teach(query: string, accept: string): Promise<void> {
    const body = JSON.stringify({ query });
    const named = JSON.stringify({ query, operationName: 'A' });
    const headers = { accept, 'content-type': 'application/json' };
    for (const each of [body, named, body, named]) {
      await answer(warm, { method: 'POST', path: '/graphql', headers, body: each });
    }
    for (const more of [{}, { operationName: '' }, { operationName: 'A' }, {}]) {
      const path = `/graphql?${new URLSearchParams({ query, ...more })}`;
      await answer(warm, { method: 'GET', path, headers: { accept } });
    }
  }

  async function expectAlike(each: Shape): Promise<void> {
    const query = newText();
    const sent = envelope(query, each);
    const first = await answer(cold, sent);
    await teach(query, each.accept);
    for (let n = 0; n < 3; n += 1) expect(await answer(warm, sent)).toBe(first);
  }

  it.each(types)('of any type is answered alike whatever was asked before: %j', async (type) => {
    await expectAlike({ ...plain, type });
  });

  it('is answered alike whatever was asked before', async () => {
    await fc.assert(fc.asyncProperty(shape, expectAlike), { numRuns: rounds(40) });
  });
});
