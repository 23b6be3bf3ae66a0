import { beforeAll, describe, expect, it } from 'vitest';
import { resourceNames } from '../../src/resources.ts';
import type { Fault, Sandbox } from '../../src/sandbox/sandbox.ts';
import { openSandbox, PLENTY, type Row } from '../support/gateway.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';

/** Passwords that callers send, with letters that are spelt otherwise in URLs, JSON and HTML. */
const passwords = {
  account: 'pass&word <of> "nora"',
  user: 'pass/word?of=ivy',
  file: 'pass word+of%a-file',
};

/** What callers send beside that, and the log leaves out. */
const sentByCallers = {
  header: 'header-of-a-caller',
  cookie: 'cookie-of-a-caller',
  literal: 'literal-of-a-caller',
};

/** One operation, and the secrets that its own caller is told, or sent and may be shown again. */
interface Errand {
  readonly query: string;
  readonly variables?: Row | undefined;
  /** Beside what the variables hold. */
  readonly shows?: 'apiKeys' | 'loginUrl';
}

const errands: readonly Errand[] = [
  { query: '{ account { username email } rateLimit { remaining } }' },
  { query: '{ users { databaseId username plan { name } } }' },
  { query: `{ purchase(code: "${sentByCallers.literal}") { buyer } }` },
  { query: '{ user(id: "41") { username apiKey } }', shows: 'apiKeys' },
  { query: '{ users(filter: ADMIN) { username apiKey } }', shows: 'apiKeys' },
  { query: '{ channels(first: 2) { nodes { items(first: 2) { totalCount } } } }' },
  { query: '{ seller { fullName balance } items(first: 2) { nodes { name } } }' },
  {
    query: 'query ($code: String!) { purchase(code: $code) { licenseType item { name } } }',
    variables: { code: '' },
  },
  {
    query: 'mutation { createLoginUrl(userId: 41) { ... on LoginUrl { url expiresAt } } }',
    shows: 'loginUrl',
  },
  {
    query: `mutation ($input: UpdateAccountInput!) {
      updateAccount(input: $input) { __typename ... on Rejected { message } }
    }`,
    variables: { input: { password: passwords.account } },
  },
  {
    query: `mutation ($input: CreateUserInput!) {
      createUser(input: $input) {
        __typename
        ... on Rejected { message }
        ... on InvalidInput { issues { path message } }
      }
    }`,
    variables: {
      input: { username: 'i', email: 'ivy@moss.example', password: passwords.user },
    },
  },
  {
    query: `mutation ($input: CreateUserInput!) {
      createUser(input: $input) { __typename ... on Rejected { message } }
    }`,
    variables: {
      input: { username: 'ivy.moss', email: 'ivy@moss.example', password: passwords.user },
    },
  },
];

/** What may be wrong with the answer to each of them. The first one is that nothing is. */
const faults: readonly (Fault | null)[] = [
  null,
  { kind: 'drop', applied: true },
  { kind: 'truncated' },
  { kind: 'error-500' },
  { kind: 'html', status: 502 },
  { kind: 'empty' },
  { kind: 'hang' },
  // Pages and refusals that repeat what they were sent are a common way to lose a key.
  echo((sent) => ({ status: 500, body: `<pre>${sent}</pre>` })),
  echo((sent) => ({ status: 500, body: { error: 1, message: sent } })),
  echo((sent) => ({ status: 200, body: { error: 1, message: sent } })),
  echo((sent) => ({ status: 401, body: { error: 1, msg: sent } })),
  echo((sent) => ({ status: 200, body: { error: sent, data: sent, id: sent, url: 7 } })),
];

function echo(answer: (sent: string) => { status: number; body: unknown }): Fault {
  return {
    kind: 'answer',
    rewrite: ({ headers }, { headers: { authorization }, query, body }) => ({
      headers,
      ...answer(`Bad request: ${JSON.stringify({ authorization, query, body })}`),
    }),
  };
}

let sandbox: Sandbox;
/** Everybody's API key, as the upstream has them. */
let userKeys: string[] = [];
/** Every login URL that the upstream has made. */
const loginUrls: string[] = [];

beforeAll(async () => {
  sandbox = await openSandbox();
  const headers = { authorization: `Bearer ${sandbox.links.key}` };
  const users = await fetch(`${sandbox.links.url}/api/users`, { headers });
  const { data } = (await users.json()) as { data: { apikey: string }[] };
  userKeys = data.map(({ apikey }) => apikey);
});

/** What one run of the process has said: to its callers, by caller, and to its operator. */
interface Told {
  readonly callers: { readonly text: string; readonly errand: Errand }[];
  operator: string;
}

/** Runs the built gateway, sends the errands under every fault, and writes down all that it says. */
async function run(env: Readonly<Record<string, string>>, sent: readonly Errand[]): Promise<Told> {
  const { links, market } = sandbox;
  sandbox.reset();
  const gateway = start(process.execPath, GATEWAY, {
    cwd: '.',
    env: {
      PORT: '0',
      AUTH_MODE: 'none',
      STATE_DIR: 'off',
      LOG_LEVEL: 'debug',
      LINKS_BASE_URL: links.url,
      LINKS_API_KEY: links.key,
      LINKS_RATE_LIMIT: String(PLENTY),
      LINKS_TIMEOUT_MS: '200',
      MARKET_BASE_URL: market.url,
      MARKET_API_KEY: market.key,
      MARKET_RATE_LIMIT: String(PLENTY),
      MARKET_TIMEOUT_MS: '200',
      // Nothing kept stands between a fault and those who are to meet it.
      ...Object.fromEntries(resourceNames.map((resource) => [`ttl.${resource}`, '0'])),
      CACHE_MAX_BYTES: '1',
      STALE_IF_ERROR_MS: '0',
      ...env,
    },
  });
  const told: Told = { callers: [], operator: '' };
  try {
    const url = await listening(gateway);
    for (const fault of faults) {
      for (const errand of sent) await send(url, errand, fault, told);
    }
    await upload(url, told);
    for (const path of ['/metrics', '/console.json', '/readyz', '/livez', '/']) {
      told.operator += await everythingOf(await fetch(url + path));
    }
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toBe(0);
  } finally {
    gateway.child.kill('SIGKILL');
  }
  told.operator += gateway.output();
  return told;
}

/** The port is in the report for people, or in the log. */
async function listening(gateway: Running): Promise<string> {
  const [, port = ''] = await gateway.says(/http:\/\/(?:localhost|127\.0\.0\.1):(\d+)(?!.*api)/);
  return `http://127.0.0.1:${port}`;
}

async function send(url: string, errand: Errand, fault: Fault | null, told: Told): Promise<void> {
  const { query, variables } = errand;
  for (const api of fault ? [sandbox.links, sandbox.market] : []) {
    api.fault({ ...(fault as Fault), times: fault?.kind === 'hang' ? 1 : 2 });
  }
  const [code] = sandbox.market.purchaseCodes.valid;
  const filled = variables && 'code' in variables ? { code } : variables;
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': sentByCallers.header,
      authorization: `Bearer ${sentByCallers.header}`,
      cookie: `session=${sentByCallers.cookie}`,
    },
    body: JSON.stringify({ query, variables: filled }),
  });
  told.callers.push({
    text: await everythingOf(response),
    errand: { ...errand, variables: filled },
  });
  for (const api of [sandbox.links, sandbox.market]) api.clearFaults();
  // An upstream that fails for long is left alone for a while: then nothing more would be tried.
  const healing = '{ user(id: 900001) { id } item(id: 900001) { id } }';
  await fetch(`${url}/graphql?query=${encodeURIComponent(healing)}`);
}

/** A file with a password, which travels in a URL on both sides. */
async function upload(url: string, told: Told): Promise<void> {
  const password = encodeURIComponent(passwords.file);
  for (const fault of [faults[7], null]) {
    if (fault) sandbox.links.fault({ ...fault, times: 1 });
    const response = await fetch(`${url}/files/notes.txt?password=${password}`, {
      method: 'PUT',
      body: 'some notes',
    });
    told.callers.push({ text: await everythingOf(response), errand: { query: '' } });
    sandbox.links.clearFaults();
  }
}

async function everythingOf(response: Response): Promise<string> {
  return `${JSON.stringify([...response.headers])}\n${await response.text()}`;
}

/** Those of the secrets that are in a text, in any spelling. */
function found(secrets: readonly string[], text: string): string[] {
  return secrets.filter((secret) =>
    [
      secret,
      encodeURIComponent(secret),
      new URLSearchParams({ secret }).toString().slice('secret='.length),
      JSON.stringify(secret).slice(1, -1),
      secret.replaceAll('&', '&amp;'),
    ].some((spelling) => text.includes(spelling)),
  );
}

describe.each([
  ['shown to nobody', 'false', errands],
  // The other errands have been seen.
  [
    'shown to who asks for them',
    'true',
    errands.filter(({ shows, variables }) => shows || variables),
  ],
])('with API keys of users %s', (_, exposed, sent) => {
  let told: Told;
  beforeAll(async () => {
    told = await run({ EXPOSE_USER_API_KEYS: exposed }, sent);
    for (const { text } of told.callers) {
      for (const [url] of text.matchAll(/http[^"\s]*\/login\/sso\/[\w-]+/g)) loginUrls.push(url);
    }
  }, 120_000);

  it('every fault occurred, and was logged', () => {
    for (const { requests } of [sandbox.links, sandbox.market]) {
      const met = new Set(requests.map(({ fault }) => fault));
      for (const fault of faults) expect(met).toContain(fault?.kind);
    }
    expect(told.operator.split('\n').length).toBeGreaterThan(faults.length * sent.length);
    expect(loginUrls.length).toBeGreaterThan(0);
  });

  it('log and metrics contain no secret', () => {
    const { links, market } = sandbox;
    const secrets = [
      ...Object.values(links.keys),
      ...Object.values(market.keys),
      ...market.purchaseCodes.valid,
      ...userKeys,
      ...loginUrls,
      ...loginUrls.map((url) => url.slice(url.lastIndexOf('/') + 1)),
      ...Object.values(passwords),
      ...Object.values(sentByCallers),
      'ivy@moss.example',
    ];
    expect(found(secrets, told.operator)).toEqual([]);
  });

  it('a caller gets no secret except requested and own ones', () => {
    const { links, market } = sandbox;
    for (const { text, errand } of told.callers) {
      const own = JSON.stringify(errand.variables ?? {});
      // The gateway's own key is some user's as well.
      const secrets = [
        market.key,
        ...(exposed === 'true' && errand.shows === 'apiKeys' ? [] : [links.key, ...userKeys]),
        ...(errand.shows === 'loginUrl' ? [] : loginUrls),
        ...Object.values(passwords).filter((password) => found([password], own).length === 0),
      ];
      expect({ errand, leaks: found(secrets, text) }).toEqual({ errand, leaks: [] });
    }
  });

  it('an API key is returned only by the field for it', () => {
    const texts = told.callers.filter(({ errand }) => errand.shows === 'apiKeys');
    const shown = texts.some(({ text }) => found(userKeys, text).length > 0);
    expect(shown).toBe(exposed === 'true');
  });
});
