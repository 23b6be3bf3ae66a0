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

  it('go on after a restart of the server, with the same owner', PATIENT, async () => {
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
    await expect.poll(() => ownerOf(second), PATIENT).toMatchObject({ isThis: false });
    expect(await ownerOf(first)).toMatchObject({ isThis: true });
    await first.stop();
    await expect.poll(() => ownerOf(second), PATIENT).toMatchObject({ isThis: true });
    expect(await name(second)).toHaveProperty('data.account.username');
  });

  it('wait for a server that is not there yet', PATIENT, async () => {
    await server.kill();
    const joining = house.join();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.start();
    expect(await name(await joining)).toHaveProperty('data.account.username');
  });
});
