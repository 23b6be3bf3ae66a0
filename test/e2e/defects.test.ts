import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeGlobalId } from '../../src/graph/ids/global-id.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';

const running: Running[] = [];
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

/** A line of the log. */
interface Line {
  readonly msg: string;
  readonly requestId?: string;
  readonly error?: { readonly message: string; readonly stack?: readonly string[] };
}

/** The built gateway over its sandbox, as operators run it. */
class Process {
  readonly #running: Running;
  url = '';

  constructor(env: Readonly<Record<string, string>> = {}, ...flags: string[]) {
    const settings = { PORT: '0', NODE_ENV: 'production', SANDBOX: 'on', ...env };
    this.#running = start(process.execPath, [...flags, ...GATEWAY], {
      cwd: '.',
      env: settings,
    });
    running.push(this.#running);
  }

  async started(): Promise<this> {
    [, this.url = ''] = await this.#running.says(/"url":"(http[^"]+)\/graphql"/);
    return this;
  }

  async ask(
    body: object,
    id: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer made-up',
        'x-request-id': id,
        ...more,
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  }

  get defects(): Line[] {
    const lines = this.#running.output().split('\n').filter(Boolean);
    return lines
      .map((line) => JSON.parse(line) as Line)
      .filter(({ msg }) => msg === 'unexpected error');
  }

  get running(): Running {
    return this.#running;
  }
}

/** With this header a request goes the whole way, on which its body is parsed once. */
const whole = { 'content-encoding': 'identity' };

const NODES = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';

describe('an operation with cached data', () => {
  it.each(['none', 'passthrough'])(
    'that finds several parts of it missing ends no process with AUTH_MODE=%s',
    async (mode) => {
      const gateway = await new Process({ AUTH_MODE: mode }).started();
      const ids = [encodeGlobalId('Channel', 999), encodeGlobalId('Channel', 998)];
      await gateway.ask({ query: NODES, variables: { ids: [] } }, 'first');
      const others = ['Account', 'Plan', 'Item'].map((type) => encodeGlobalId(type, 999));
      for (const all of others.flatMap((more) => [
        [...ids, more],
        [more, ...ids],
      ])) {
        const answer = await gateway.ask({ query: NODES, variables: { ids: all } }, 'second');
        expect(answer.status).toBe(200);
        expect(JSON.parse(answer.text).data.nodes).toHaveLength(3);
      }
      expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
      expect(gateway.defects).toEqual([]);
    },
  );
});

describe('a defect', () => {
  it('that shows as a rejection which nothing waits for is logged with its request, and ends nothing', async () => {
    const gateway = await new Process({}, '--import', './test/e2e/defective.mjs').started();
    const bodies = ['leave a promise', 'and another'].map((comment) => ({
      query: `{ account { username } } # ${comment}`,
    }));
    for (const [n, body] of bodies.entries()) {
      const answer = await gateway.ask(body, `request-${n}`, whole);
      expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"username"') });
    }
    await gateway.running.says(/left behind/);
    expect(gateway.defects).toMatchObject([
      {
        requestId: 'request-0',
        error: {
          message: 'Error: left behind',
          stack: expect.arrayContaining([expect.stringContaining('at ')]),
        },
      },
    ]);
  });

  it('that shows as an exception of the event loop is logged, and stops the process after what runs', async () => {
    const gateway = await new Process({}, '--import', './test/e2e/defective.mjs').started();
    const other = request(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': 33 },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      other.on('response', (response) => resolve(response.statusCode)).on('error', reject);
    });
    // Half a request is one that certainly runs.
    other.write('{"query":"{ __typename }"');
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
    await gateway.ask({ query: '{ __typename } # throw outside' }, 'the-one', whole);
    await gateway.running.says(/thrown outside/);
    other.end('}'.padEnd(8));
    expect(await answered).toBe(200);
    expect(await gateway.running.ended).toBe(1);
    expect(gateway.defects[0]).toMatchObject({ requestId: 'the-one' });
  });
});
