import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type Door, openDoor } from '../support/door.ts';
import { rounds } from '../support/rounds.ts';
import { anyQuery } from './any-query.ts';

const CAMPAIGN = 'query C($id: ID!) { campaign(id: $id) { name } account { username } }';
const LIST = 'query L($first: Int!) { campaigns(first: $first) { nodes { name } totalCount } }';

interface Receipt {
  readonly calls: number;
  readonly saved: { readonly cache: number };
}

/** The JSON of an answer, behind its status and type. */
function bodyOf(answer: string) {
  return JSON.parse(answer.slice(answer.indexOf('{')));
}

describe('An operation with cached data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'answers-'));
  const file = join(folder, 'tokens.json');
  let door: Door;

  /** How many operations were executed at once. */
  const atHand = async (): Promise<number> => {
    const { text } = await door.send('/metrics');
    return Number(/^gateway_operations_at_hand_total (\d+)/m.exec(text)?.[1]);
  };
  const post = (query: string, variables: object, token = 'admin'): RequestInit => ({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ query, variables }),
  });
  /** What comes through `fetch` has no socket, and goes the whole way. */
  const whole = async (query: string, variables: object, token?: string): Promise<string> => {
    const request = new Request('http://gateway/graphql', post(query, variables, token));
    const response = await door.gateway.fetch(request);
    return `${response.status} ${response.headers.get('content-type')} ${await response.text()}`;
  };
  const short = async (query: string, variables: object, token?: string): Promise<string> => {
    const { headers, status, text } = await door.send('/graphql', post(query, variables, token));
    return `${status} ${headers.get('content-type')} ${text}`;
  };

  beforeEach(async () => {
    const tokens = (['viewer', 'admin'] as const).map((name) => ({
      name,
      role: name,
      sha256: hash('sha256', name),
    }));
    writeFileSync(file, formatTokenFile(tokens));
    door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
  });
  afterEach(async () => {
    await door.close();
    rmSync(file, { force: true });
  });

  it('is what the whole way answers, whatever is selected', async () => {
    let asked = 0;
    let neverSeen = 0;
    // From now on it is known in which form this client is answered.
    await short('{ account { username } }', {});
    await fc.assert(
      fc.asyncProperty(anyQuery(door.gateway.schema), async ({ query, variables: [one, two] }) => {
        const learnt = await whole(query, one);
        await whole(query, two);
        const counted = await atHand();
        // The text comes this way for the first time.
        expect(await short(query, one)).toBe(await whole(query, one));
        neverSeen += (await atHand()) - counted;
        const before = await whole(query, two);
        const answers = [await short(query, two), await short(query, one)];
        expect(answers).toEqual([before, await whole(query, one)]);
        if (!learnt.includes('"errors"') && !before.includes('"errors"')) asked += 1;
      }),
      { numRuns: rounds(150) },
    );
    // Not each can be: some values are read one by one, and `node` waits for what it reads.
    expect(await atHand()).toBeGreaterThan(asked / 2);
    expect(neverSeen).toBeGreaterThan(asked / 4);
  });

  it('shares its plan with texts of other names, comments and whitespace', async () => {
    let asked = 0;
    await short('{ account { username } }', {});
    await fc.assert(
      fc.asyncProperty(anyQuery(door.gateway.schema), async ({ query, variables: [one, two] }) => {
        const texts = [
          query,
          query.replace('Any', `Other${asked}`),
          query.replace('Any', '').replaceAll(' ', ' \n,'),
          `# ${asked}\n${query.replaceAll(' }', ' # not this }\n}').replace('Any', 'Commented')}`,
          `${query} query Second { __typename }`,
          query.replace('query', 'query query'),
        ];
        /** Whether each correct text was executed at once, by the variables that it was sent with. */
        const atOnce = new Map<object, Set<boolean>>([
          [one, new Set()],
          [two, new Set()],
        ]);
        for (const [n, text] of texts.entries()) {
          asked += 1;
          const variables = n % 2 === 0 ? one : two;
          // The others have the plan of the first.
          if (n < 2) await whole(text, variables);
          const before = await atHand();
          const answer = await short(text, variables);
          const isAtOnce = (await atHand()) > before;
          expect(answer).toBe(await whole(text, variables));
          if (!answer.includes('"errors"')) atOnce.get(variables)?.add(isAtOnce);
        }
        // All of them or none.
        for (const each of atOnce.values()) expect(each.size).toBeLessThan(2);
      }),
      { numRuns: rounds(100) },
    );
    expect(await atHand()).toBeGreaterThan(asked / 6);
  });

  it('goes by the name that its own text has', async () => {
    const ask = async (name: string, operationName: string): Promise<string> => {
      const init = post('', {});
      const body = JSON.stringify({ query: `query ${name} { account { email } }`, operationName });
      const { status, text } = await door.send('/graphql', { ...init, body });
      return `${status} ${text.slice(0, 30)}`;
    };
    for (const name of ['One', 'Two', 'Three', 'Four']) {
      expect(await ask(name, name)).toContain('email');
      expect(door.log()).toContain(`"${name}"`);
    }
    expect(await atHand()).toBe(3);
    expect(await ask('Five', 'Four')).toContain('errors');
    expect(await atHand()).toBe(3);
  });

  it('shares its plan with none of several operations, of which none is named', async () => {
    const ask = async (first: string, operationName: string | null): Promise<string> => {
      const query = `query ${first} { account { email } } query Second { __typename }`;
      const body = JSON.stringify({ query, operationName });
      return (await door.send('/graphql', { ...post('', {}), body })).text;
    };
    await short('{ account { email } }', {});
    for (const name of ['One', 'Two', 'Three']) expect(await ask(name, name)).toContain('email');
    for (const name of ['Four', 'Five']) expect(await ask(name, null)).toContain('"errors"');
  });

  it('has the type that its own sender accepts', async () => {
    const ask = async (name: string, accept: string): Promise<string | null> => {
      const init = post(`query ${name} { account { email } }`, {});
      const headers = new Headers(init.headers);
      headers.set('accept', accept);
      return (await door.send('/graphql', { ...init, headers })).headers.get('content-type');
    };
    const types = ['application/json', 'application/graphql-response+json'];
    for (const name of ['One', 'Two', 'Three']) {
      for (const type of types) expect(await ask(name + type.length, type)).toContain(type);
    }
    expect(await atHand()).toBe(4);
  });

  /** Ids of the first campaigns, whose page is cached from then on. */
  const campaigns = async (): Promise<string[]> => {
    const answer = await whole('{ campaigns(first: 5) { nodes { id } } }', {});
    return bodyOf(answer).data.campaigns.nodes.map(({ id }: { readonly id: string }) => id);
  };

  it('shares its plan with no text that is refused for its whitespace or its name', async () => {
    const [id] = await campaigns();
    const withSpaces = (count: number) =>
      `query Spaces { campaign(id: """\n${' '.repeat(count)}\n${id}""") { name } }`;
    const withName = (length: number) => `query ${'N'.repeat(length)} { account { username } }`;
    await short('{ account { email } }', {});
    for (const text of [
      ...[1, 2, 3, 4, 10_001].map(withSpaces),
      ...[1, 2, 3, 4, 201].map(withName),
    ]) {
      expect(await short(text, {})).toBe(await whole(text, {}));
    }
    expect(await short(withName(201), {})).toContain('"errors"');
  });

  it('is executed at once when its text was answered before, with other variables', async () => {
    const [one, two, three] = await campaigns();
    await short(CAMPAIGN, { id: one });
    expect(await atHand()).toBe(0);
    for (const id of [two, three]) {
      expect(await short(CAMPAIGN, { id })).toBe(await whole(CAMPAIGN, { id }));
    }
    expect(await atHand()).toBe(2);
    expect(door.calls()).toBe(2);
  });

  it('is executed for a GET as well, with its tag and its age', async () => {
    const ids = await campaigns();
    const get = async (id: string | undefined, headers: Readonly<Record<string, string>> = {}) => {
      const address = new URLSearchParams({ query: CAMPAIGN, variables: JSON.stringify({ id }) });
      const init = {
        headers: { authorization: 'Bearer admin', accept: 'application/json', ...headers },
      };
      const request = new Request(`http://gateway/graphql?${address}`, init);
      return {
        short: await door.send(`/graphql?${address}`, init),
        whole: await door.gateway.fetch(request),
      };
    };
    await get(ids[0]);
    await door.clock.advance(2500);
    const { short: reply, whole: response } = await get(ids[1]);
    expect(await atHand()).toBe(1);
    expect(reply.text).toBe(await response.text());
    for (const name of ['etag', 'age', 'cache-control', 'content-type']) {
      expect(`${name}: ${reply.headers.get(name)}`).toBe(`${name}: ${response.headers.get(name)}`);
    }
    // What comes through `fetch` has no socket on which it would be compressed.
    expect(reply.headers.get('vary')).toBe(`${response.headers.get('vary')}, Accept-Encoding`);
    const known = await get(ids[2], { 'if-none-match': reply.headers.get('etag') ?? '' });
    expect([known.short.status, known.whole.status]).toEqual([200, 200]);
    const { short: again } = await get(ids[1], {
      'if-none-match': reply.headers.get('etag') ?? '',
    });
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' });
  });

  it('goes the whole way where a read is not cached, which costs what it costs', async () => {
    const CODE =
      'query Q($id: ID!) { account { username } qrCode(id: $id) { statistics { __typename } } }';
    const answer = bodyOf(await whole('{ qrCodes(first: 2) { nodes { id } } }', {}));
    const [one, two] = answer.data.qrCodes.nodes as readonly { readonly id: string }[];
    await short(CODE, { id: one?.id });
    const before = door.calls();
    // Statistics are read for each by itself.
    const { calls, saved } = bodyOf(await short(CODE, { id: two?.id })).extensions
      .upstream as Receipt;
    expect({ calls, cached: saved.cache }).toEqual({ calls: door.calls() - before, cached: 1 });
    expect(calls).toBeGreaterThan(0);
    expect(await atHand()).toBe(0);
  });

  it('refuses what the whole way refuses: roles, sizes and variables', async () => {
    const USERS =
      'query U($first: Int!) { users { username } campaigns(first: $first) { totalCount } }';
    await short(USERS, { first: 1 });
    await short(USERS, { first: 2 });
    await short(LIST, { first: 1 });
    const learnt = await atHand();
    // The second of the users; and the campaigns, which were cached by then.
    expect(learnt).toBe(2);
    for (const [query, variables, token] of [
      [USERS, { first: 3 }, 'viewer'],
      [LIST, { first: 501 }, 'admin'],
      [LIST, { first: 4_000_000_000 }, 'admin'],
      [LIST, { first: 'one' }, 'admin'],
      [LIST, {}, 'admin'],
      [CAMPAIGN, { id: 'x'.repeat(5000) }, 'admin'],
    ] as const) {
      const answer = await short(query, variables, token);
      expect(answer).toContain('"errors"');
      expect(answer).toBe(await whole(query, variables, token));
    }
    expect(await atHand()).toBe(learnt);
  });

  it('refuses by variables what asks for more rows than are allowed, though all are cached', async () => {
    await door.close();
    door = await openDoor({ AUTH_MODE: 'none', OPERATION_MAX_NODES: '60' });
    const TREE = `query T($items: Int!) {
      channels(first: 10) { nodes { items(first: $items) { totalCount } } }
    }`;
    for (const items of [3, 4, 5]) expect(await short(TREE, { items })).toContain('200');
    expect(await atHand()).toBe(2);
    for (const items of [6, 4_000_000_000]) {
      const answer = await short(TREE, { items });
      expect(answer).toContain('"errors"');
      expect(answer).toBe(await whole(TREE, { items }));
    }
  });

  it('keeps what it is made of fresh, though nothing else asks for it', async () => {
    await short(LIST, { first: 1 });
    const before = door.calls();
    for (let second = 0; second < 290; second += 1) {
      await door.clock.advance(1000);
      await short(LIST, { first: 1 + (second % 20) });
    }
    expect(bodyOf(await short(LIST, { first: 21 })).extensions.upstream.maxAgeMs).toBeLessThan(
      60_000,
    );
    // Once for each time that four fifths of its minute were over.
    expect(door.calls() - before).toBe(6);
    expect(await atHand()).toBeGreaterThan(200);
  });

  it('uses parts again that no variable is in, for as long as they are what they would be', async () => {
    const PARTS = `query P($id: ID!) { account { username } campaigns(first: 2) { nodes { name } }
      campaign(id: $id) { name } ...F } fragment F on Query { other: campaign(id: $id) { name } }`;
    const ids = await campaigns();
    await short(PARTS, { id: ids[0] });
    const rename =
      'mutation($id: ID!, $name: String!) { updateCampaign(input: { id: $id, name: $name }) { __typename } }';
    for (let step = 0; step < 60; step += 1) {
      await door.clock.advance([10, 400, 1001, 7000][step % 4] ?? 0);
      const id = ids[step % ids.length];
      if (step % 9 === 0) await short(rename, { id: ids[0], name: `name ${step}` });
      if (step % 13 === 0) await elsewhere(door, ids[0] ?? '', `other ${step}`);
      const token = step % 2 === 0 ? 'viewer' : 'admin';
      const before = await whole(PARTS, { id }, token);
      const answer = await short(PARTS, { id }, token);
      if (before === (await whole(PARTS, { id }, token))) expect(answer).toBe(before);
    }
    expect(await atHand()).toBeGreaterThan(40);
  });

  it('resolves no part again that depends on literals alone, for each set of variables', async () => {
    const ids = await campaigns();
    const PARTS = `query P($id: ID!) { campaign(id: $id) { name }
      campaigns(first: 2) { nodes { name } } }`;
    await short(PARTS, { id: ids[0] });
    const field = door.gateway.schema.getQueryType()?.getFields()['campaigns'];
    const { resolve } = field ?? {};
    if (!field || !resolve) throw new Error('has no resolver');
    let resolved = 0;
    field.resolve = (...args) => {
      resolved += 1;
      return resolve(...args);
    };
    try {
      for (let n = 0; n < 20; n += 1) await short(PARTS, { id: ids[n % 5], n });
    } finally {
      field.resolve = resolve;
    }
    expect(await atHand()).toBe(20);
    // By the text that comes for the second time, which is planned then, and once by its plan.
    expect(resolved).toBe(2);
  });

  it('distinguishes parts that a condition around them makes different', async () => {
    const AROUND = `query A($more: Boolean!, $id: ID!) { campaign(id: $id) { name }
      campaigns(first: 2) { nodes { name } } ...F @include(if: $more)
      ... @skip(if: $more) { campaigns(first: 2) { totalCount } } }
      fragment F on Query { campaigns(first: 2) { nodes { id } } }`;
    const ids = await campaigns();
    await short(AROUND, { more: true, id: ids[0] });
    for (const [n, more] of [true, false, true, false].entries()) {
      const variables = { more, id: ids[n] };
      expect(await short(AROUND, variables)).toBe(await whole(AROUND, variables));
    }
    expect(await atHand()).toBe(4);
  });

  it('shows a write at once', async () => {
    const [id] = await campaigns();
    const names = async (first: number): Promise<unknown> => {
      const answer = bodyOf(await short(LIST, { first }));
      return answer.data.campaigns.nodes.map(({ name }: { readonly name: string }) => name);
    };
    await names(1);
    for (const [n, name] of ['one', 'two', 'three'].entries()) {
      const mutation =
        'mutation($id: ID!, $name: String!) { updateCampaign(input: { id: $id, name: $name }) { __typename } }';
      await short(mutation, { id, name });
      expect(await names(20 - n)).toContain(name);
      expect(await names(30 - n)).toContain(name);
    }
    expect(await atHand()).toBeGreaterThanOrEqual(3);
  });
});

/** Renames a campaign behind the gateway's back. */
async function elsewhere(
  { sandbox: { links } }: Door,
  globalId: string,
  name: string,
): Promise<void> {
  const id = Buffer.from(globalId, 'base64url').toString().split(':')[1];
  await fetch(`${links.url}/api/campaign/${id}/update`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${links.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
}
