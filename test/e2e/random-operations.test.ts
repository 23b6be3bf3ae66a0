import { Agent, type ClientRequest, request } from 'node:http';
import * as fc from 'fast-check';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { schema } from '../../src/schema.ts';
import { tokenFile } from '../support/folder.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';
import type { Message } from '../support/wild.ts';
import { anyOperation } from '../support/wild-operations.ts';

/** `npm run soak` makes 4000 of them, over all modes. */
const operations = Number(process.env['RANDOM_OPERATIONS'] ?? 96);
const seed = Number(process.env['RANDOM_SEED'] ?? Date.now() % 1_000_000);

/** Requests that are under way at a time. */
const ABREAST = 8;
/** An answer that lasts, as one of a live query, is read for so long; of the others, one of this many is broken off. */
const READ_MS = 150;
const BREAK_OFF_EVERY = 12;
/** One of this many upstream requests fails. */
const FAULT_EVERY = 10;
/** Each message is sent so often, since what it asks for may be remembered then. */
const AGAIN = 3;

const roles = ['viewer', 'editor', 'admin'] as const;
const secret = 'a-secret-of-more-than-32-letters';
const tokens = tokenFile(...roles.map((role) => ({ name: role, role })));

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ limit: { requests: 100, windowMs: 1000 } });
});
afterAll(() => sandbox.close());

const sign = (role: string): Promise<string> =>
  new SignJWT({ roles: [role] })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('https://login.example')
    .setAudience('gateway')
    .setSubject(role)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));

/** A way to distinguish callers: its settings, and what callers show. */
interface Mode {
  readonly env: Readonly<Record<string, string>>;
  readonly tokens: () => Promise<readonly string[]>;
}

const modes: Readonly<Record<string, Mode>> = {
  none: { env: {}, tokens: async () => ['made-up'] },
  token: {
    env: { AUTH_TOKENS_FILE: tokens },
    tokens: async () => [...roles, 'made-up'],
  },
  jwt: {
    env: {
      AUTH_JWT_SECRET: secret,
      AUTH_JWT_ISSUER: 'https://login.example',
      AUTH_JWT_AUDIENCE: 'gateway',
    },
    tokens: async () => [...(await Promise.all(roles.map(sign))), 'made.up.one'],
  },
  passthrough: {
    env: {},
    tokens: async () => [...Object.values(sandbox.links.keys), 'refused-1', 'refused-2'],
  },
};

async function startGateway(name: string, { env }: Mode): Promise<Running & { url: string }> {
  const { links, market } = sandbox;
  const ttls = ['account', 'channels', 'campaigns', 'items', 'seller', 'pixels'];
  const running = start(process.execPath, GATEWAY, {
    cwd: '.',
    env: {
      PORT: '0',
      NODE_ENV: 'production',
      STATE_DIR: 'off',
      AUTH_MODE: name,
      LINKS_BASE_URL: links.url,
      ...(name === 'passthrough' ? {} : { LINKS_API_KEY: links.key }),
      MARKET_BASE_URL: market.url,
      MARKET_API_KEY: market.key,
      LINKS_RATE_LIMIT: '100',
      MARKET_RATE_LIMIT: '100',
      LINKS_RATE_WINDOW_MS: '1000',
      MARKET_RATE_WINDOW_MS: '1000',
      LINKS_TIMEOUT_MS: '300',
      MARKET_TIMEOUT_MS: '300',
      MAX_WAIT_MS: '400',
      CACHE_MAX_BYTES: '200000',
      TTLS: JSON.stringify(Object.fromEntries(ttls.map((ttl) => [ttl, 300]))),
      ...env,
    },
  });
  const [, url = ''] = await running.says(/"url":"(http[^"]+)\/graphql"/);
  return { ...running, url: url.replace('localhost', '127.0.0.1') };
}

const agent = new Agent({ keepAlive: true, maxSockets: ABREAST });

/** The status of an answer and the beginning of what it says; `null` for one that did not come. */
function send(
  url: string,
  { body, headers, method, path }: Message,
  breakOffMs: number | null,
): Promise<{ readonly status: number; readonly text: string } | null> {
  return new Promise((resolve) => {
    let sent: ClientRequest;
    try {
      sent = request(url + path, { agent, method, headers });
    } catch {
      // Node's client knows better than to send this.
      resolve(null);
      return;
    }
    const timer = setTimeout(() => sent.destroy(), breakOffMs ?? 5000);
    const end = (answer: { status: number; text: string } | null): void => {
      clearTimeout(timer);
      resolve(answer);
    };
    sent.on('error', () => end(null));
    sent.on('response', (response) => {
      let text = '';
      const status = response.statusCode ?? 0;
      if (/event-stream/.test(response.headers['content-type'] ?? '')) {
        setTimeout(() => sent.destroy(), READ_MS);
      }
      response.on('data', (piece: Buffer) => {
        if (text.length < 4000) text += piece.toString('latin1');
      });
      response.on('error', () => {});
      response.on('close', () => end({ status, text }));
    });
    sent.end(body ?? undefined);
  });
}

function makeWeather(): void {
  for (const api of [sandbox.links, sandbox.market]) {
    api.clearLog();
    api.clearFaults();
    const kind = (['drop', 'html', 'error-500', 'truncated', 'hang', 'empty'] as const)[
      Math.floor(Math.random() * FAULT_EVERY)
    ];
    if (kind) api.fault({ kind, times: 1 });
  }
}

it.each(Object.keys(modes))(
  'operations at random, over all paths, end no process and show no defect with AUTH_MODE=%s',
  async (name) => {
    const mode = modes[name] as Mode;
    const gateway = await startGateway(name, mode);
    const tokens = await mode.tokens();
    const fresh = Math.ceil(operations / Object.keys(modes).length / AGAIN);
    const messages = fc.sample(anyOperation(schema), { numRuns: fresh, seed });
    const said: string[] = [];
    let next = 0;
    const caller = async (): Promise<void> => {
      while (next < fresh * AGAIN) {
        const at = next;
        next += 1;
        if (at % 5 === 0) makeWeather();
        const message = messages[Math.floor(at / AGAIN)] as Message;
        const token = tokens[Math.floor(at / 2) % (tokens.length + 1)];
        const headers = {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...message.headers,
        };
        const breaksOff = at % BREAK_OFF_EVERY === 0 ? at % 40 : null;
        const answer = await send(gateway.url, { ...message, headers }, breaksOff);
        const told = answer?.text.replace(/errors_total\{code="INTERNAL_SERVER_ERROR"\} 0\n/, '');
        if (answer?.status === 500 || told?.includes('INTERNAL_SERVER_ERROR')) {
          said.push(`${message.method} ${message.path} ${String(message.body)}: ${told}`);
        }
      }
    };
    await Promise.all(Array.from({ length: ABREAST }, caller));
    const alive = await send(
      gateway.url,
      { method: 'GET', path: '/livez', headers: {}, body: null },
      null,
    );
    const defects = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('unexpected error'));
    gateway.child.kill('SIGTERM');
    const ended = await gateway.ended;
    const story = `RANDOM_SEED=${seed}`;
    expect({ alive: alive?.status, defects, said, ended }, story).toEqual({
      alive: 200,
      defects: [],
      said: [],
      ended: 0,
    });
  },
  120_000 + operations * 100,
);
