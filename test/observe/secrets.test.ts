import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';

/** Private data of callers, beside the keys of the gateway. */
const callers = {
  password: 'pa55word-of-a-user',
  variable: 'variable-of-a-caller',
  header: 'header-of-a-caller',
  cookie: 'cookie-of-a-caller',
  literal: 'literal-of-a-caller',
};

let busy: BusyGateway;
let told = '';
let secrets: string[] = [];

beforeAll(async () => {
  busy = await busyGateway({ LOG_LEVEL: 'debug', EXPOSE_USER_API_KEYS: 'true', metrics: 'open' });
  const { sandbox } = busy;
  secrets = [sandbox.links.key, sandbox.market.key, ...Object.values(callers)];
  await makeBusy();
  for (const path of ['/metrics', '/console.json', '/readyz']) {
    told += await (await fetch(busy.url + path)).text();
  }
  told += busy.log();
});
afterAll(() => busy.close());

/** A bit of everything that can go right or wrong. */
async function makeBusy(): Promise<void> {
  const headers = {
    authorization: `Bearer ${callers.header}`,
    cookie: `session=${callers.cookie}`,
    'x-api-key': callers.header,
  };
  const ask = (query: string): Promise<unknown> =>
    busy.ask(query, { headers, variables: { value: callers.variable } });
  const read = `query($value: ID!) {
    account { username } users(first: 5) { edges { node { email apiKey } } }
    seller { username } purchase(code: "${callers.literal}") { buyer } node(id: $value) { id } }`;
  const create = `mutation { createUser(input: { username: "ada9", email: "ada@example.com", password: "${callers.password}" }) { __typename } }`;
  await ask(read);
  await ask(create);
  for (const kind of ['error-500', 'html', 'empty', 'drop', 'truncated', 'refuse-200'] as const) {
    for (const api of [busy.sandbox.links, busy.sandbox.market]) {
      api.clearFaults();
      // An upstream that repeats everything it was sent is a common way to lose a key.
      api.fault({ kind, times: 2 });
    }
    await ask(`${read} # ${kind}`);
    await ask(create);
  }
  busy.sandbox.links.clearFaults();
  busy.sandbox.links.fault({
    kind: 'answer',
    rewrite: (answer, request) => ({ ...answer, status: 500, body: JSON.stringify(request) }),
  });
  await ask('{ pixels(first: 1) { totalCount } }');
}

describe('log and metrics of a busy run', () => {
  it('is plenty', () => {
    expect(busy.lines().filter(({ msg }) => msg === 'operation').length).toBeGreaterThan(10);
    expect(told).toContain('upstream failed');
    expect(told).toContain('gateway_upstream_errors_total');
  });

  it('holds no key, password, variable, literal, header or cookie', () => {
    expect(secrets.filter((secret) => told.includes(secret))).toEqual([]);
    expect(secrets.every((secret) => secret.length > 8)).toBe(true);
  });

  it('holds no key that an upstream handed out, and no address of one', () => {
    const { sandbox } = busy;
    const keys = [...Object.values(sandbox.links.keys), ...Object.values(sandbox.market.keys)];
    expect(keys.filter((key) => told.includes(key))).toEqual([]);
    expect(told).not.toMatch(/ada@example\.com|https?:\/\/|api_key=|\/api\//);
  });
});
