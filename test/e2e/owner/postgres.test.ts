import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWith, postgresServer } from '../../support/needs.ts';
import { PostgresServer } from '../../support/postgres-server.ts';
import { type Household, type Member, openHousehold } from '../../support/two-processes.ts';

const PATIENT = { timeout: 60_000 };

async function ask(of: Member, query: string): Promise<unknown> {
  return (await fetch(`${of.url}/graphql?query=${encodeURIComponent(query)}`)).json();
}

const name = (of: Member): Promise<unknown> => ask(of, '{ account { username } }');

async function ownerOf(of: Member): Promise<unknown> {
  const { owner } = (await (await fetch(`${of.url}/readyz`)).json()) as { owner: unknown };
  return owner;
}

/** Those that say that they own the store. */
async function owning(...members: Member[]): Promise<Member[]> {
  const owners = await Promise.all(members.map(ownerOf));
  return members.filter((_, at) => (owners[at] as { isThis: boolean }).isThis);
}

describeWith(postgresServer, 'Processes over PostgreSQL', () => {
  let server: PostgresServer;
  let house: Household;
  beforeEach(async () => {
    server = await PostgresServer.run();
    house = await openHousehold({ DATABASE_URL: server.url });
  });
  afterEach(async () => {
    await house.close();
    await server.close();
  });

  it('have one owner, and the next after its kill, with the same cache', PATIENT, async () => {
    const first = await house.join();
    const second = await house.join();
    await name(first);
    expect(await name(second)).toHaveProperty('data.account.username');
    expect(house.sandbox.links.requests).toHaveLength(1);
    expect(await ownerOf(second)).toMatchObject({ isThis: false });
    await first.kill();
    await second.running.says(/owns the store/);
    expect(await name(second)).toHaveProperty('data.account.username');
    expect(await ownerOf(second)).toMatchObject({ isThis: true });
  });

  it('take over from a suspended owner, which forwards when it wakes', PATIENT, async () => {
    const first = await house.join();
    const second = await house.join();
    await name(first);
    first.running.child.kill('SIGSTOP');
    const asked = name(second);
    await second.running.says(/owns the store/);
    first.running.child.kill('SIGCONT');
    await first.running.says(/Another process has owned/);
    expect(await asked).toHaveProperty('data.account.username');
    expect(await name(first)).toHaveProperty('data.account.username');
    await expect.poll(() => ownerOf(first), PATIENT).toMatchObject({ isThis: false });
    await second.stop();
    await expect.poll(() => ownerOf(first), PATIENT).toMatchObject({ isThis: true });
  });

  it('go on after a restart of the server, with one owner', PATIENT, async () => {
    const first = await house.join();
    const second = await house.join();
    await name(second);
    await server.kill();
    expect(await name(second)).toHaveProperty('data.account.username');
    const sent = house.sandbox.links.requests.length;
    // Another process could own the database: nothing may be sent.
    expect(await ask(second, '{ plans { name } }')).toMatchObject({
      errors: [{ extensions: { code: 'UPSTREAM_UNAVAILABLE', retryAfterMs: 1000 } }],
    });
    expect(house.sandbox.links.requests.length).toBe(sent);
    await server.start();
    await expect
      .poll(() => ask(second, '{ plans { name } }'), PATIENT)
      .toHaveProperty('data.plans');
    // The one whose attempt comes first.
    await expect.poll(() => owning(first, second), PATIENT).toHaveLength(1);
    const [owner] = await owning(first, second);
    const other = owner === first ? second : first;
    await owner?.stop();
    await expect.poll(() => owning(other), PATIENT).toEqual([other]);
    expect(await name(other)).toHaveProperty('data.account.username');
  });

  it('stop although the database goes away when they have lost it', PATIENT, async () => {
    // The session of the owner, and the one in which it finds out that it has lost the database.
    let connections = 0;
    const proxy = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
      if (connections > 2) return socket.destroy();
      const to = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
      return to.pipe(socket).pipe(to);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port } = proxy.address() as AddressInfo;
    const owner = await house.join({
      DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres`,
    });
    const other = new Client({ connectionString: server.url });
    await other.connect();
    await other.query(`UPDATE links_market_gateway SET value = '{}' WHERE key = 'meta/owner'`);
    await other.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'links-market-gateway'`,
    );
    await other.end();
    await owner.running.says(/Another process has owned/);
    await expect.poll(() => connections, PATIENT).toBeGreaterThan(2);
    expect(await owner.stop()).toBe(0);
    proxy.close();
  });

  it('wait for a server that is not there yet', PATIENT, async () => {
    await server.kill();
    const joining = house.join();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.start();
    expect(await name(await joining)).toHaveProperty('data.account.username');
  });
});
