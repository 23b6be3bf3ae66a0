import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LiveViewer } from '../support/live-viewer.ts';
import { describeWith, postgresServer } from '../support/needs.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { type Household, type Member, openHousehold } from '../support/two-processes.ts';

/** `npm run soak:handovers` ends 300 owners of each kind, starts 400 pairs and deploys 50 times. */
const HANDOVERS = Number(process.env['HANDOVERS'] ?? 2);
const STARTS = Number(process.env['STARTS'] ?? 3);
const DEPLOYS = Number(process.env['DEPLOYS'] ?? 2);
const LIMIT = 10;
const WINDOW_MS = 2000;
/** Callers that ask without a pause. */
const CALLERS = 8;
const PATIENT = { timeout: 3_600_000 };

/** The upstream tells nothing of its limit, and refuses what exceeds it in any interval. */
const limit = {
  requests: LIMIT,
  windowMs: WINDOW_MS,
  mode: 'sliding',
  resetFormat: 'none',
} as const;

let house: Household;
afterEach(async () => {
  LiveViewer.closeAll();
  await house.close();
});

const env = {
  LINKS_RATE_LIMIT: String(LIMIT),
  LINKS_RATE_WINDOW_MS: String(WINDOW_MS),
  MAX_WAIT_MS: '60000',
};

/** The end of an owner, which the next one must not depend on. */
type End = (owner: Member) => Promise<unknown>;

const kill: End = (owner) => owner.kill();
const stop: End = (owner) => owner.stop();

/** Suspends an owner for longer than a window, and ends it when another has taken over. */
const suspend: End = async (owner) => {
  owner.running.child.kill('SIGSTOP');
  await pause(5 * WINDOW_MS);
  owner.running.child.kill('SIGCONT');
  await pause(WINDOW_MS);
  return owner.kill();
};

/** Longer than a session may take to answer, and than a window. */
const OUTAGE_MS = 15_000;

/** Passes bytes on to a server of this machine, until it swallows them. */
class Line {
  #isCut = false;
  #port = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((from) => this.#join(from));

  /** The address of a server, through a new line. */
  async to(url: string): Promise<string> {
    this.#port = Number(new URL(url).port);
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    const through = new URL(url);
    through.port = String((this.#server.address() as AddressInfo).port);
    return through.href;
  }

  #join(from: Socket): void {
    const to = connect(this.#port, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on('data', (bytes) => this.#isCut || other.write(bytes));
      one.on('error', () => {});
      one.on('close', () => this.#isCut || other.destroy());
    }
  }

  /** Swallows all for a time in milliseconds. Its connections stay open meanwhile, and end then. */
  async cutFor(ms: number): Promise<void> {
    this.#isCut = true;
    await pause(ms);
    this.#isCut = false;
    this.#end();
  }

  close(): void {
    this.#server.close();
    this.#end();
  }

  #end(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}

/** Reads rows that nobody has read before, and creates channels with a key, through any process. */
function press(member: () => Member) {
  const answered = new Set<string>();
  const state = { isStopped: false };
  let count = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!state.isStopped) {
      count += 1;
      const name = `Channel ${count}`;
      const isWrite = count % 4 === 0;
      const query = isWrite
        ? `mutation { createChannel(input: { name: "${name}" }) { ... on Channel { id } } }`
        : `{ user(id: "${1 + count}") { email } }`;
      try {
        const response = await fetch(`${member().url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': `key-${count}` },
          body: JSON.stringify({ query }),
          signal: AbortSignal.timeout(20_000),
        });
        const { data, errors } = (await response.json()) as { data?: object; errors?: unknown };
        if (isWrite && data && !errors) answered.add(name);
      } catch {
        // The process that was asked has ended.
      }
    }
  });
  return async () => {
    state.isStopped = true;
    await Promise.all(callers);
    return answered;
  };
}

async function keepsLimitAndKeys(ends: readonly End[]): Promise<void> {
  const { requests } = house.sandbox.links;
  let owner = await house.join(env);
  let next = await house.join(env);
  const finish = press(() => next);
  for (let handover = 0; handover < HANDOVERS; handover += 1) {
    const sent = requests.length;
    await expect.poll(() => requests.length, PATIENT).toBeGreaterThan(sent);
    const end = ends[handover % ends.length] ?? kill;
    const ended = end(owner);
    await next.running.says(/"owns the store"/);
    owner = next;
    next = await house.join(env);
    await ended;
  }
  const answered = await finish();
  const at = requests.map((request) => request.at);
  const inWindow = at.map((from) => at.filter((each) => each >= from && each < from + WINDOW_MS));
  expect(Math.max(...inWindow.map(({ length }) => length))).toBeLessThanOrEqual(LIMIT);
  const created = requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => (body as { name?: string }).name);
  expect(created.length).toBe(new Set(created).size);
  expect([...answered].filter((name) => !created.includes(name))).toEqual([]);
  const losses = Array.from({ length: HANDOVERS }, (_, at) => ends[at % ends.length] !== stop);
  await tellsUsage(owner, losses.filter(Boolean).length);
}

/**
 * The usage has each request of the upstream's log. Those that were about to leave when an owner was lost, at most one of
 * each caller, count although they were not sent. A stop leaves none.
 */
async function tellsUsage(owner: Member, losses: number): Promise<void> {
  const counted = async () => {
    const response = await fetch(`${owner.url}/console/usage.json`);
    const { groups } = (await response.json()) as { groups: readonly { readonly calls: number }[] };
    return groups.reduce((sum, { calls }) => sum + calls, 0);
  };
  const { length } = house.sandbox.links.requests;
  const calls = await counted();
  console.info(`${calls} requests in the usage, ${length} in the log of the upstream`);
  expect(calls).toBeGreaterThanOrEqual(length);
  expect(calls).toBeLessThanOrEqual(length + losses * CALLERS);
}

/** Deploys under load: the next process is asked before the one before it ends. */
async function failsNoRequest(): Promise<void> {
  const { requests } = house.sandbox.links;
  const wrong: unknown[] = [];
  const running = new Set<Promise<void>>();
  const state = { isStopped: false, isKilled: false };
  let count = 0;
  let door = await house.join();
  const ask = async (): Promise<void> => {
    count += 1;
    const isWrite = count % 4 === 0;
    const query = isWrite
      ? `mutation { createChannel(input: { name: "Channel ${count}" }) { ... on Channel { id } } }`
      : `{ user(id: "${1000 + count}") { email } }`;
    const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${count}` };
    const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
    try {
      const answer = await (await fetch(`${door.url}/graphql`, init)).json();
      // A creation whose record is saved can be sent or not when its owner is killed.
      const isUnknown = answer.errors?.[0]?.extensions.code === 'OUTCOME_UNKNOWN';
      if (answer.errors && !(state.isKilled && isWrite && isUnknown)) wrong.push(answer);
    } catch (error) {
      wrong.push(String(error));
    }
  };
  const begin = (): void => {
    const asked = ask().finally(() => running.delete(asked));
    running.add(asked);
  };
  const pressed = (async () => {
    while (!state.isStopped) {
      begin();
      // 20 views a second.
      await pause(50);
    }
    await Promise.all(running);
  })();
  const gaps = { stop: [] as number[], kill: [] as number[] };
  for (let deploy = 0; deploy < DEPLOYS; deploy += 1) {
    const owner = door;
    const next = await house.join();
    door = next;
    await Promise.all(running);
    const viewer = await LiveViewer.begun(next.url, { query: 'query @live { plans { name } }' });
    const end = deploy % 2 === 0 ? 'stop' : 'kill';
    state.isKilled = end === 'kill';
    const ended = owner[end]();
    let at = Date.now();
    if (end === 'stop') {
      await owner.running.says(/^stopped/m);
      at = Date.now();
    }
    const firstSent = () => requests.find((request) => request.at >= at)?.at;
    // More often than the load for half a second, so that the gap is measured to 5 ms.
    for (let n = 0; firstSent() === undefined; n += 1) {
      begin();
      await pause(n < 100 ? 5 : 50);
    }
    gaps[end].push((firstSent() ?? Number.NaN) - at);
    await next.running.says(/owns the store/);
    await viewer.untilEnded();
    const again = await LiveViewer.begun(next.url, { query: 'query @live { plans { name } }' });
    expect(again.data).toEqual(viewer.data);
    again.close();
    await ended;
  }
  state.isStopped = true;
  await pressed;
  for (const [end, all] of Object.entries(gaps)) {
    const sorted = all.map(Math.round).sort((a, b) => a - b);
    console.info(`ms from ${end} to the next request: ${sorted.join(' ')}`);
  }
  expect(wrong).toEqual([]);
  expect(requests.filter(({ refused }) => refused)).toEqual([]);
}

it(
  `keeps the limit and the keys over ${HANDOVERS} ends of the owner of a folder`,
  PATIENT,
  async () => {
    house = await openHousehold({}, limit);
    await keepsLimitAndKeys([kill, stop]);
  },
);

it(`gives a folder one owner of two that start together, ${STARTS} times`, PATIENT, async () => {
  house = await openHousehold();
  const isOwner = async ({ url }: Member): Promise<boolean> => {
    const { owner } = (await (await fetch(`${url}/readyz`)).json()) as {
      owner: { isThis: boolean };
    };
    return owner.isThis;
  };
  for (let round = 0; round < STARTS; round += 1) {
    const pair = await Promise.all([house.join(), house.join()]);
    const owners = async () => (await Promise.all(pair.map(isOwner))).filter(Boolean).length;
    await expect.poll(owners, PATIENT).toBe(1);
    await Promise.all(pair.map((each) => each.kill()));
  }
});

it(`fails no request in ${DEPLOYS} deploys on one folder`, PATIENT, async () => {
  house = await openHousehold();
  await failsNoRequest();
});

describeWith(postgresServer, 'Over PostgreSQL', () => {
  let server: PostgresServer;
  beforeEach(async () => {
    server = await PostgresServer.run();
  });
  afterEach(() => server.close());

  it(`fails no request in ${DEPLOYS} deploys`, PATIENT, async () => {
    house = await openHousehold({ DATABASE_URL: server.url });
    await failsNoRequest();
  });

  it(`keeps the limit and the keys over ${HANDOVERS} ends of the owner`, PATIENT, async () => {
    const line = new Line();
    house = await openHousehold({ DATABASE_URL: await line.to(server.url) }, limit);
    const inOutage = (outage: () => Promise<void>): End => {
      return async (owner) => {
        await outage();
        return owner.kill();
      };
    };
    const paused = inOutage(() => server.pauseFor(OUTAGE_MS));
    const cut = inOutage(() => line.cutFor(OUTAGE_MS));
    await keepsLimitAndKeys([kill, stop, paused, cut, suspend]);
    line.close();
  });
});
