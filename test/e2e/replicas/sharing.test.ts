import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import type { ReplicaAnswer } from '../../support/replicas/replica.ts';
import { Scene } from '../../support/replicas/scene.ts';
import type { UpstreamRequest } from '../../support/replicas/upstream.ts';

const TTL_MS = 1000;

describeWith(redisServer, 'Replicas', () => {
  let scene: Scene;
  let lastId = 0;
  beforeAll(async () => {
    scene = await Scene.set({ env: { 'ttl.users': String(TTL_MS) } });
  });
  afterEach(() => {
    scene.upstream.conduct.delays = scene.usualDelays;
    scene.upstream.conduct.fails = () => null;
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  /** A user that no caller has asked for yet: how to ask a replica for it, and what reached the upstream. */
  const someone = () => {
    lastId += 1;
    const path = `/api/user/${lastId}`;
    const query = `{ user(id: "${lastId}") { email } }`;
    return {
      path,
      email: `user${lastId}@example.com`,
      ask: (replica: number) => scene.cluster.ask(replica, { query }),
      calls: (): UpstreamRequest[] =>
        scene.upstream.requests.filter((request) => request.path === path),
    };
  };
  const emailOf = ({ data }: ReplicaAnswer): unknown =>
    (data?.['user'] as { readonly email: string } | null)?.email;

  it('make one request of what many ask of all of them at once', async () => {
    const { email, ask, calls } = someone();
    scene.upstream.conduct.delays = () => [50, 50];
    const answers = await Promise.all([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2].map(ask));
    expect(answers.map(emailOf)).toEqual(answers.map(() => email));
    expect(calls()).toHaveLength(1);
  });

  it('answer from what another has read', async () => {
    const { email, ask, calls } = someone();
    for (const replica of [0, 1, 2]) expect(emailOf(await ask(replica))).toBe(email);
    expect(calls()).toHaveLength(1);
  });

  it('ask again when the one that asked for all of them is killed', async () => {
    const { email, path, ask, calls } = someone();
    scene.upstream.conduct.delays = (request) =>
      request.path === path && calls().length === 1 ? [Number.POSITIVE_INFINITY, 0] : [10, 10];
    const lost = ask(0).catch(() => 'lost');
    while (calls().length === 0) await pause(5);
    const others = [1, 2, 1, 2].map(ask);
    await scene.cluster.replica(0).end('SIGKILL');
    expect((await Promise.all(others)).map(emailOf)).toEqual([email, email, email, email]);
    expect(await lost).toBe('lost');
    expect(calls()).toHaveLength(2);
    await scene.cluster.replica(0).begin();
    await scene.cluster.ready(0);
  });

  it('pass an error on to all that wait for it', async () => {
    const alone = someone();
    const shared = someone();
    scene.upstream.conduct.delays = () => [100, 50];
    scene.upstream.conduct.fails = ({ path }) =>
      path === alone.path || path === shared.path ? 500 : null;
    const codeOf = ({ errors }: ReplicaAnswer) => errors?.[0]?.extensions?.code;
    const code = codeOf(await alone.ask(0));
    expect(code).toBeDefined();
    const first = shared.ask(0);
    while (shared.calls().length === 0) await pause(5);
    const others = [1, 2, 1, 2].map(shared.ask);
    expect((await Promise.all([first, ...others])).map(codeOf)).toEqual(
      Array.from({ length: 5 }, () => code),
    );
    expect(shared.calls()).toHaveLength(alone.calls().length);
  });

  it('refresh what all of them are asked for once, and not each for itself', async () => {
    const { email, ask, calls } = someone();
    await ask(0);
    const rounds = 6;
    const until = performance.now() + rounds * TTL_MS;
    await Promise.all(
      [0, 1, 2].map(async (replica) => {
        while (performance.now() < until) {
          expect(emailOf(await ask(replica))).toBe(email);
          await pause(20);
        }
      }),
    );
    // Each by itself would make three times as many.
    expect(calls().length).toBeGreaterThanOrEqual(rounds - 1);
    expect(calls().length).toBeLessThanOrEqual(2 * rounds);
  });

  it('wait for one that was refused, and make no request of their own', async () => {
    const { email, path, ask, calls } = someone();
    scene.upstream.conduct.delays = () => [50, 50];
    scene.upstream.conduct.fails = (request) =>
      request.path === path && calls().length === 1 ? 429 : null;
    const answers = await Promise.all([0, 1, 2, 0, 1, 2].map(ask));
    expect(answers.map(emailOf)).toEqual(answers.map(() => email));
    expect(calls()).toHaveLength(2);
  });
});
