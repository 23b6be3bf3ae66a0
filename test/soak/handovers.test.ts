import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWith, postgresServer } from '../support/needs.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { type Household, type Member, openHousehold } from '../support/two-processes.ts';

/** `HANDOVERS=300` for the long form. */
const HANDOVERS = Number(process.env['HANDOVERS'] ?? 2);
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
afterEach(() => house.close());

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
  await new Promise((resolve) => setTimeout(resolve, 5 * WINDOW_MS));
  owner.running.child.kill('SIGCONT');
  await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
  return owner.kill();
};

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
}

it(
  `keeps the limit and the keys over ${HANDOVERS} ends of the owner of a folder`,
  PATIENT,
  async () => {
    house = await openHousehold({}, limit);
    await keepsLimitAndKeys([kill, stop]);
  },
);

describeWith(postgresServer, 'Over PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.run();
  });
  afterAll(() => server.close());

  it(`keeps the limit and the keys over ${HANDOVERS} ends of the owner`, PATIENT, async () => {
    house = await openHousehold({ DATABASE_URL: server.url }, limit);
    await keepsLimitAndKeys([kill, stop, suspend, kill]);
  });
});
