import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Household, type Member, openHousehold } from '../../support/two-processes.ts';

/** For machines that are busy. */
const PATIENT = { timeout: 30_000 };

let house: Household;
beforeEach(async () => {
  house = await openHousehold();
});
afterEach(() => house.close());

async function ask(of: Member, query: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${of.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  return response.json();
}

const creation = (name: string) =>
  `mutation { createChannel(input: { name: "${name}" }) { ... on Channel { name } } }`;

/** Queries from several callers without a pause, until it is told to stop: what was wrong, and how many there were. */
function press(of: Member, query: (round: number) => string, keyed = false) {
  const state = { isStopped: false };
  let count = 0;
  const wrong: unknown[] = [];
  const callers = Array.from({ length: 10 }, async () => {
    while (!state.isStopped) {
      count += 1;
      const headers = keyed ? { 'idempotency-key': `key-${count}` } : undefined;
      try {
        const answer = await ask(of, query(count), headers);
        if (answer.errors || !answer.data) wrong.push(answer);
      } catch (error) {
        wrong.push(String(error));
      }
    }
  });
  return async () => {
    state.isStopped = true;
    await Promise.all(callers);
    return { wrong, count };
  };
}

/** Resolves once a process owns the store, and has answered after that. */
async function takesOver(member: Member): Promise<void> {
  await member.running.says(/owns the store/);
  expect((await ask(member, '{ account { username } }')).data.account).toBeTruthy();
}

describe('The end of the owner', () => {
  it('by kill -9 fails no query of a waiting process, which owns the store next', async () => {
    let owner = await house.join();
    const door = await house.join();
    const stop = press(
      door,
      (round) => `{ user(id: "${1 + (round % 40)}") { email } plans { name } }`,
    );
    await owner.kill();
    await takesOver(door);
    // It is the owner now, and answers for itself.
    owner = await house.join();
    expect((await ask(owner, '{ account { username } }')).data).toBeTruthy();
    const { count, wrong } = await stop();
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(20);
  });

  it('by SIGTERM fails no query and no keyed mutation, and executes each mutation once', async () => {
    const owner = await house.join();
    const door = await house.join();
    const stop = press(door, (round) => creation(`Channel ${round}`), true);
    const { links } = house.sandbox;
    await expect.poll(() => links.requests.length, PATIENT).toBeGreaterThan(20);
    expect(await owner.stop()).toBe(0);
    await takesOver(door);
    const { count, wrong } = await stop();
    expect(wrong).toEqual([]);
    const created = links.requests.filter(
      ({ method, path }) => method === 'POST' && /channel/.test(path),
    );
    expect(created.length).toBe(count);
  });

  it('leaves the outcome of a mutation without a key unknown, and does not repeat it', async () => {
    const { links } = house.sandbox;
    const owner = await house.join();
    const door = await house.join();
    const held = new Promise<void>(() => {});
    const remove = links.fault({ kind: 'hold', until: held, method: 'POST' });
    const before = links.requests.length;
    const bare = ask(door, creation('Bare'));
    await expect.poll(() => links.requests.length, PATIENT).toBe(before + 1);
    remove();
    await owner.kill();
    expect(await bare).toMatchObject({ errors: [{ extensions: { code: 'OUTCOME_UNKNOWN' } }] });
    await takesOver(door);
    expect(links.requests.filter(({ method }) => method === 'POST').length).toBe(1);
  });

  it(
    'goes on although the store could not be opened meanwhile, which it complains of once each time',
    PATIENT,
    async () => {
      const owner = await house.join();
      const next = await house.join();
      const store = join(house.state, 'store');
      for (let round = 1; round <= 2; round += 1) {
        renameSync(store, `${store}.aside`);
        writeFileSync(store, '');
        await next.running.says(new RegExp(`(cannot be used[^]*){${round}}`));
        rmSync(store);
        renameSync(`${store}.aside`, store);
        // It tries again after a second.
        await setTimeout(1500);
      }
      await owner.kill();
      expect(await ask(next, '{ account { username } }')).toHaveProperty('data.account.username');
      expect(next.running.output().match(/cannot be used/g)).toHaveLength(2);
    },
  );

  it('begins again where the folder of its store was removed', PATIENT, async () => {
    const owner = await house.join();
    await ask(owner, '{ account { username } }');
    rmSync(join(house.state, 'store'), { recursive: true });
    // Nothing is sent by a process that no longer owns a store.
    await ask(owner, '{ plans { name } }');
    await owner.running.says(/removed or replaced/);
    const asked = () => ask(owner, '{ plans { name } }');
    await expect.poll(asked, PATIENT).toHaveProperty('data.plans');
    const next = await house.join();
    await owner.stop();
    await takesOver(next);
  });
});
