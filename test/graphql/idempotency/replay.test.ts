import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { askKeyed, create, next, replayed, reused } from './keyed.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});
const executed = { outcomes: { createChannel: ['EXECUTED', 1] }, replayed: null, sent: 1 };

describe('a mutation with a key', () => {
  it('is executed once, and returns the same result again', async () => {
    const key = next();
    const first = await askKeyed(door, key, create(key));
    expect(first).toMatchObject({ ...executed, errors: [], status: 200 });
    expect(first.data?.['createChannel']).toMatchObject({ name: key });
    await door.clock.advance(5000);
    for (let again = 0; again < 3; again += 1) {
      const { data, ...reply } = await askKeyed(door, key, create(key));
      expect(reply).toMatchObject({ ...replayed, errors: [], status: 200 });
      expect(data).toEqual(first.data);
      expect(reply.reports[0]?.firstAt).toBe(first.reports[0]?.firstAt);
    }
    expect(first.reports[0]?.firstAt).toMatch(/^2030-01-01T00:00:\d\d(\.\d{3})?Z$/);
  });

  it('without a key is executed each time, says nothing of keys, and leaves no record', async () => {
    const records = async () =>
      (await door.send('/metrics')).text.match(/^gateway_idempotency_keys\{.*$/gm);
    const before = await records();
    expect(before).not.toBeNull();
    for (let again = 0; again < 2; again += 1) {
      const reply = await askKeyed(door, null, create(next()));
      expect(reply).toMatchObject({ sent: 1, reports: [], replayed: null });
      expect(reply.text).not.toContain('idempotency');
    }
    await askKeyed(
      door,
      null,
      'mutation { updateChannel(input: { id: 1, name: "a" }) { __typename } }',
    );
    expect(await records()).toEqual(before);
    await askKeyed(door, next(), create(next()));
    expect(await records()).not.toEqual(before);
  });

  it('takes the key from the directive, and from a variable of it', async () => {
    const [key, name] = [next(), next()];
    const field = (by: string) =>
      `createChannel(input: { name: "${name}" }) @idempotent(key: ${by}) { __typename }`;
    expect(await askKeyed(door, null, `mutation { ${field(`"${key}"`)} }`)).toMatchObject(executed);
    const query = `mutation ($key: String!) { ${field('$key')} }`;
    expect(await askKeyed(door, null, query, { variables: { key } })).toMatchObject(replayed);
    // Both are the same key, and the directive wins.
    expect(await askKeyed(door, key, create(name))).toMatchObject(replayed);
    expect(await askKeyed(door, next(), query, { variables: { key } })).toMatchObject(replayed);
    expect(await askKeyed(door, key, query, { variables: { key: next() } })).toMatchObject(
      executed,
    );
  });

  it('takes a key among the variables of a persisted operation', async () => {
    const key = next();
    const query =
      'mutation ($key: String!, $name: String!) { createChannel(input: { name: $name }) @idempotent(key: $key) { __typename } }';
    const send = async (body: object) => {
      const before = door.calls();
      const { code, headers } = await door.send('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, variables: { key, name: key } }),
      });
      return [code, headers.get('idempotency-replayed'), door.calls() - before];
    };
    const documentId = hash('sha256', query);
    expect(await send({ documentId, query })).toEqual([undefined, null, 1]);
    expect(await send({ documentId })).toEqual([undefined, 'true', 0]);
  });

  it('takes the same key in quotation marks and without', async () => {
    const key = next();
    const bare = { headers: { 'idempotency-key': key } };
    expect(await askKeyed(door, null, create(key), bare)).toMatchObject(executed);
    expect(await askKeyed(door, key, create(key))).toMatchObject(replayed);
  });

  it('returns other fields of the result, under other names, too', async () => {
    const key = next();
    await askKeyed(door, key, create(key, 'id'));
    const other = `mutation Other { made: createChannel(input: { name: "${key}" }) {
      __typename ... on Channel { databaseId name }
    } }`;
    const reply = await askKeyed(door, key, other);
    expect(reply).toMatchObject({ ...replayed, outcomes: { made: ['REPLAYED', 0] } });
    expect(reply.data?.['made']).toEqual({
      __typename: 'Channel',
      databaseId: expect.any(Number),
      name: key,
    });
  });

  it('has the same result however equal input is written', async () => {
    const key = next();
    const ask = (query: string, variables = {}) => askKeyed(door, key, query, { variables });
    const [color, description] = ['#112233', 'line\u2028"quoted"'];
    const literal = JSON.stringify(description).replace('\u2028', '\\u2028');
    const ofInput = (more: string) =>
      `mutation ($input: CreateChannelInput!${more}) { createChannel(input: $input) { __typename } }`;
    const first = await ask(ofInput(''), { input: { name: key, description, color } });
    expect(first).toMatchObject({ ...executed, errors: [] });
    const others: [string, object][] = [
      [ofInput(''), { input: { color, name: key, description } }],
      [
        `mutation { createChannel(input: { color: "${color}", description: ${literal}, name: "${key}" }) { __typename } }`,
        {},
      ],
      [
        `mutation A($color: String = "${color}", $name: String!) {
          createChannel(input: { name: $name, description: ${literal}, color: $color }) { x: __typename }
        }`,
        { name: key },
      ],
    ];
    for (const [query, variables] of others) {
      const reply = await ask(query, variables);
      expect(reply, query).toMatchObject({ ...replayed, errors: [] });
    }
  });

  it('is refused for other input, without an upstream request', async () => {
    const key = next();
    await askKeyed(door, key, create(key));
    const others = [
      create(`${key} `),
      `mutation { createChannel(input: { name: "${key}", description: null }) { __typename } }`,
      `mutation { createChannel(input: { name: "${key}", description: "" }) { __typename } }`,
      `mutation { createCampaign(input: { name: "${key}" }) { __typename } }`,
      'mutation { deleteChannel(id: 21) { __typename } }',
    ];
    for (const query of others) {
      const reply = await askKeyed(door, key, query);
      const field = /(\w+)\(/.exec(query)?.[1] ?? '';
      expect(reply, query).toMatchObject({ ...reused, data: { [field]: null }, reports: [] });
      expect(reply.headers.get('retry-after')).toBeNull();
    }
    const json = { headers: { accept: 'application/json' } };
    const shown = await askKeyed(door, key, others[0] ?? '', json);
    expect(shown).toMatchObject({ ...reused, status: 200 });
    // The key is as before.
    expect(await askKeyed(door, key, create(key))).toMatchObject(replayed);
  });

  it('is refused for another password, which is stored nowhere', async () => {
    const key = next();
    const user = (password: string) => `mutation {
      createUser(input: { email: "${key}@example.com", username: "${key.replace('-', '')}", password: "${password}" }) {
        __typename ... on User { username }
      }
    }`;
    expect(await askKeyed(door, key, user('correct horse'))).toMatchObject({
      errors: [],
      outcomes: { createUser: ['EXECUTED', 1] },
    });
    expect(await askKeyed(door, key, user('correct house'))).toMatchObject(reused);
    expect((await askKeyed(door, key, user('correct horse'))).replayed).toBe('true');
  });

  it('compares files by their contents', async () => {
    const key = next();
    const send = async (content: string) => {
      const form = new FormData();
      const query = `mutation ($file: Upload!) { uploadFile(input: { file: $file, name: "${key}" }) { __typename } }`;
      form.append('operations', JSON.stringify({ query, variables: { file: null } }));
      form.append('map', '{"0":["variables.file"]}');
      form.append('0', new File([content], 'a.txt'));
      const before = door.calls();
      const headers = {
        'idempotency-key': key,
        'apollo-require-preflight': '1',
        accept: 'application/graphql-response+json',
      };
      const reply = await door.send('/graphql', { method: 'POST', body: form, headers });
      return [
        reply.status,
        reply.code,
        reply.headers.get('idempotency-replayed'),
        door.calls() - before,
      ];
    };
    expect(await send('one')).toEqual([200, undefined, null, 1]);
    expect(await send('one')).toEqual([200, undefined, 'true', 0]);
    expect(await send('two')).toEqual([422, 'IDEMPOTENCY_KEY_REUSED', null, 0]);
    expect(await send('on')).toEqual([422, 'IDEMPOTENCY_KEY_REUSED', null, 0]);
  });

  it('returns the rejection by the API again', async () => {
    const key = next();
    const query = `mutation { createCampaign(input: { name: "a", slug: "12-z1m1hb" }) {
      __typename ... on Rejected { message upstream }
    } }`;
    const first = await askKeyed(door, key, query);
    expect(first.data).toMatchObject({ createCampaign: { __typename: 'Rejected' } });
    expect(first.sent).toBe(1);
    const again = await askKeyed(door, key, query);
    expect(again.data).toEqual(first.data);
    expect(again).toMatchObject({ sent: 0, replayed: 'true' });
  });

  it('does not use its key up if the input is invalid', async () => {
    const key = next();
    const invalid = await askKeyed(door, key, create(' ', '__typename'));
    expect(invalid).toMatchObject({ sent: 0, reports: [], errors: [], replayed: null });
    expect(await askKeyed(door, key, create(key))).toMatchObject(executed);
  });

  it('delivers its result in parts, with the outcome in the last', async () => {
    const key = next();
    const query = create(key, 'id ... @defer { items(first: 1) { totalCount } }');
    const accept = { headers: { accept: 'multipart/mixed;deferSpec=20220824' } };
    for (const outcome of ['EXECUTED', 'REPLAYED']) {
      const { headers, text } = await door.ask(query, null, {
        headers: { ...accept.headers, 'idempotency-key': key },
      });
      expect(headers.get('content-type')).toContain('multipart/mixed');
      expect(text.match(/"idempotency":\[[^\]]*\]/g)).toHaveLength(1);
      expect(text).toContain(`"outcome":"${outcome}"`);
      expect(headers.get('idempotency-replayed')).toBe(outcome === 'REPLAYED' ? 'true' : null);
    }
  });
});
