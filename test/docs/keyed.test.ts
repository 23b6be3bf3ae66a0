import type { ApolloClient } from '@apollo/client';
import { parse } from 'graphql';
import { Client, fetchExchange } from 'urql';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { idempotencyKey } from '../../client/idempotency-key.ts';
import type { PendingWrites } from '../../client/pending-writes.ts';
import { retryingFetch } from '../../client/retry.ts';
import { MemoryStorage } from '../client/memory-storage.ts';
import { type Door, openDoor } from '../support/door.ts';
import { clientStage } from './support/client-stage.ts';

const stage = clientStage();
const WRITTEN_URL = 'http://localhost:4000';
let door: Door;

beforeEach(async () => {
  // The clients wait by the machine's clock, the gateway by one that the test moves.
  door = await openDoor({ AUTH_MODE: 'none', writeSettleMs: '1000' });
  // A key that is older than the gateway may have been used before.
  vi.useFakeTimers({ toFake: ['Date'], now: door.clock.wall() + 1000 });
});
afterEach(() => void vi.useRealTimers());

/** How a recipe answers, as far as a test reads it. */
interface Answer {
  readonly data?: unknown;
  readonly error?: unknown;
}
const CREATE = `mutation CreateCampaign($input: CreateCampaignInput!) {
  createCampaign(input: $input) { __typename ... on Campaign { id name } ... on Error { message } }
}`;
type CreateByKey = (name: string, key: string) => Promise<Answer>;

async function apollo(): Promise<CreateByKey> {
  const { apolloClient } = await stage.load<{ apolloClient: (uri: string) => ApolloClient }>(
    'apollo.ts',
  );
  const client = apolloClient(`${door.url}/graphql`);
  return (name, key) => {
    const headers = { 'idempotency-key': `"${key}"` };
    return client.mutate({
      mutation: parse(CREATE),
      variables: { input: { name } },
      context: { headers },
    });
  };
}

async function urql(): Promise<CreateByKey> {
  const fetchOptions = { headers: { prefer: 'wait=5' } };
  const exchanges = [fetchExchange];
  const url = `${door.url}/graphql`;
  const client = new Client({ url, fetch: retryingFetch(), fetchOptions, exchanges });
  return (name, key) => {
    const headers = { prefer: 'wait=5', 'idempotency-key': `"${key}"` };
    return client.mutation(CREATE, { input: { name } }, { fetchOptions: { headers } }).toPromise();
  };
}

/** The campaigns of the API with a name. */
async function rowsOf(name: string): Promise<readonly { readonly id: string }[]> {
  const { data } = await door.ask('{ campaigns(first: 100) { nodes { id name } } }');
  const { nodes } = (data as { campaigns: { nodes: { id: string; name: string }[] } }).campaigns;
  return nodes.filter((each) => each.name === name).map(({ id }) => ({ id }));
}

/** Moves the time of the gateway on until something is over. */
async function untilOver<T>(work: Promise<T>): Promise<T> {
  // A failure is the caller's.
  const over = work.then(
    () => true,
    () => true,
  );
  const moved = async (): Promise<boolean> => {
    await door.clock.advance(1000);
    return false;
  };
  for (let isOver = false; !isOver; ) isOver = await Promise.race([over, moved()]);
  return work;
}

/** Loses answers of the gateway to the client, as a tunnel does: the requests have arrived. */
function loseAnswers(times: number): () => number {
  const send = globalThis.fetch;
  let lost = 0;
  vi.stubGlobal('fetch', async (...request: Parameters<typeof fetch>) => {
    const response = await send(...request);
    if (lost === times) return response;
    lost += 1;
    await response.text();
    throw new TypeError('fetch failed');
  });
  return () => lost;
}

/** Gives callers less time than the gateway needs to look for a change, and shows it which campaigns exist. */
async function hurry(): Promise<void> {
  await door.close();
  door = await openDoor({ AUTH_MODE: 'none', writeSettleMs: '1000', MAX_WAIT_MS: '500' });
  expect(await rowsOf('Winter sale')).toEqual([]);
}

/** Loses the response of the API to one creation, which is executed. Returns the number of creations sent so far. */
function loseExecuted(): () => number {
  const path = '/api/campaign/add';
  door.sandbox.links.fault({ kind: 'drop', path, times: 1, applied: true });
  return () => door.sandbox.links.requests.filter((each) => each.path === path).length;
}

const made = (id: unknown) =>
  expect.objectContaining({ createCampaign: expect.objectContaining({ id }) });

describe.each(Object.entries({ apollo, urql }))('a mutation with a key by %s', (_, open) => {
  it('is made once if it is sent twice', async () => {
    const create = await open();
    const key = idempotencyKey();
    const answers = await Promise.all([create('Winter sale', key), create('Winter sale', key)]);
    const [row, ...more] = await rowsOf('Winter sale');
    expect(more).toEqual([]);
    for (const { data } of answers) expect(data).toEqual(made(row?.id));
  });

  it('is made once if the answer of the gateway is lost', async () => {
    const create = await open();
    const lost = loseAnswers(2);
    const { data } = await untilOver(create('Winter sale', idempotencyKey()));
    expect(lost()).toBe(2);
    vi.unstubAllGlobals();
    const [row, ...more] = await rowsOf('Winter sale');
    expect(more).toEqual([]);
    expect(data).toEqual(made(row?.id));
  });

  it('is made once if the response of the API is lost after the change, and the client repeats it', async () => {
    await hurry();
    const create = await open();
    const sent = loseExecuted();
    const { data } = await untilOver(create('Winter sale', idempotencyKey()));
    expect(sent()).toBe(1);
    const [row, ...more] = await rowsOf('Winter sale');
    expect(more).toEqual([]);
    expect(data).toEqual(made(row?.id));
  });
});

describe('the form of docs/frontend.md', () => {
  interface Form {
    readonly writes: PendingWrites;
    readonly createCampaign: (name: string) => Promise<Answer>;
    readonly resume: () => Promise<readonly PromiseSettledResult<Answer>[]>;
  }
  let loaded = 0;
  const load = () => {
    loaded += 1;
    return stage.load<Form>(`writes.ts?${loaded}`);
  };
  beforeEach(() => {
    vi.stubGlobal('localStorage', new MemoryStorage());
    const send = globalThis.fetch;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
      send(url.replace(WRITTEN_URL, door.url), init),
    );
  });

  it.each([
    ['the gateway', () => loseAnswers(1)],
    ['the API', loseExecuted],
  ])('makes one row if the response of %s is lost after the change', async (_, lose) => {
    await hurry();
    const { createCampaign } = await load();
    const count = lose();
    const { data } = await untilOver(createCampaign('Winter sale'));
    expect(count()).toBe(1);
    const [row, ...more] = await rowsOf('Winter sale');
    expect(more).toEqual([]);
    expect(data).toEqual(made(row?.id));
  });

  it('makes one row if it is submitted twice, and the page is loaded again', async () => {
    const first = await load();
    const send = globalThis.fetch;
    let leave: () => void = () => {};
    const leaving = new Promise<void>((resolve) => {
      leave = resolve;
    });
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      await leaving;
      return send(url, init);
    });
    const answers = [first.createCampaign('Winter sale'), first.createCampaign('Winter sale')];
    const second = await load();
    expect(second.writes.list()).toMatchObject([{ state: 'stopped' }]);
    leave();
    const all = await untilOver(Promise.all([...answers, second.resume()]));
    const [row, ...more] = await rowsOf('Winter sale');
    expect(more).toEqual([]);
    const [one, other, [resumed]] = all as unknown as [
      Answer,
      Answer,
      PromiseFulfilledResult<Answer>[],
    ];
    for (const each of [one, other, resumed?.value]) expect(each?.data).toEqual(made(row?.id));
  });
});
