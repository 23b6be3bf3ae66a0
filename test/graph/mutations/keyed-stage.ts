import { afterEach, beforeEach } from 'vitest';
import { type AnswerError, type Row, startWorld, type World } from '../../support/gateway.ts';
import { asTimePasses, until } from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Short, so that a test has few steps of time; in the usual order. */
const env = {
  LINKS_TIMEOUT_MS: '2000',
  writeSettleMs: '1000',
  MAX_WAIT_MS: '60000',
};

/** A mutation field as GraphQL, with `$file` for a file, and the type of its result. */
export interface Field {
  readonly field: string;
  readonly typename: string;
}

/** What came back. */
export interface Reply {
  readonly data: { readonly result: Row } | null;
  readonly errors?: readonly AnswerError[];
  readonly extensions: { readonly idempotency?: readonly Row[] };
}

/** A gateway and a sandbox under one virtual clock, new for each test. */
export class KeyedStage {
  #clock = new VirtualClock();
  #world: World | undefined;

  constructor() {
    beforeEach(async () => {
      this.#clock = new VirtualClock();
      const clock = this.#clock;
      this.#world = await startWorld({ clock, env, sandbox: { clock } });
    });
    afterEach(() => this.#world?.close());
  }

  get world(): World {
    if (!this.#world) throw new Error('asked before the first test');
    return this.#world;
  }

  /** Sends a mutation, by default with the same key each time, and lets time pass. */
  async send(
    { field, typename }: Field,
    { key = 'one-decision' }: { readonly key?: string | null } = {},
  ): Promise<Reply> {
    const isUpload = field.includes('$file');
    const query = `mutation ${isUpload ? '($file: Upload!)' : ''} {
      result: ${field} { kind: __typename ... on ${typename} { ${typename === 'Account' ? 'email' : 'databaseId'} } }
    }`;
    const form = new FormData();
    form.append('operations', JSON.stringify({ query, variables: isUpload ? { file: null } : {} }));
    form.append('map', isUpload ? '{"0":["variables.file"]}' : '{}');
    if (isUpload) form.append('0', new File(['x'], 'x.txt'));
    const headers = {
      'apollo-require-preflight': 'true',
      prefer: 'wait=60',
      ...(key === null ? {} : { 'idempotency-key': `"${key}"` }),
    };
    const request = new Request('http://gateway/graphql', { method: 'POST', headers, body: form });
    const response = await asTimePasses(
      this.#clock,
      Promise.resolve(this.world.gateway.fetch(request)),
    );
    return (await response.json()) as Reply;
  }

  /** The rows of a list of the upstream, the newest first. */
  async rows(path: string, key: string): Promise<Row[]> {
    const answer = await this.world.links(`${path}?limit=100`);
    const data = (answer['data'] ?? answer) as Row;
    return (Array.isArray(data) ? data : data[key]) as Row[];
  }

  /** Waits until a request has met a fault. */
  async met(): Promise<void> {
    await until(() => this.world.sandbox.links.requests.some(({ fault }) => fault !== undefined));
  }

  /** Creates a row as another client of the account. Returns its id. */
  async createElsewhere(path: string, body: object): Promise<number> {
    const { links } = this.world.sandbox;
    const headers = {
      authorization: `Bearer ${links.key}`,
      'content-type': 'application/json',
      'user-agent': 'a test',
      connection: 'close',
    };
    const response = await fetch(`${links.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { id: number }).id;
  }
}
