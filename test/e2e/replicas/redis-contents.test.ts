import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { SECRET, WINDOW_MS } from '../../support/replicas/cluster.ts';
import { kindsOf, monitor } from '../../support/replicas/redis-insight.ts';
import { Scene } from '../../support/replicas/scene.ts';
import { KEY } from '../../support/replicas/upstream.ts';

const CALLER = 'caller-with-a-name';
const TOKEN = `lmg_${'t'.repeat(43)}`;
/** Fewer than the slots that one caller has at once. */
const READS = 20;
const headers = { authorization: `Bearer ${TOKEN}` };

describeWith(redisServer, 'Redis', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callers-'));
  let scene: Scene;
  beforeAll(async () => {
    const file = join(folder, 'tokens.json');
    const token = { name: CALLER, role: 'admin', sha256: hash('sha256', TOKEN) };
    writeFileSync(file, JSON.stringify({ tokens: [token] }));
    const env = { AUTH_MODE: 'token', AUTH_TOKENS_FILE: file };
    scene = await Scene.set({ replicas: 2, env, headers });
  });
  afterAll(async () => {
    await scene[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
  const ask = (replica: number, query: string) => scene.cluster.ask(replica, { query, headers });

  it('is told nothing of who asks, with which key, for what, and what the answer is', async () => {
    await using heard = await monitor(scene.redis.port);
    await Promise.all(
      Array.from({ length: READS }, (_, id) => ask(id % 2, `{ user(id: "${id + 1}") { email } }`)),
    );
    await ask(0, '{ campaigns { nodes { name } } }');
    await ask(
      1,
      'mutation { updateCampaign(input: { id: 1, name: "a-new-name" }) { __typename } }',
    );
    const said = heard.lines().join('\n');
    // In the clear, where there is any.
    await scene.redis.command('CONFIG', 'SET', 'rdbcompression', 'no');
    const keys = (await scene.redis.command('KEYS', '*')) as string[];
    const dumps = await Promise.all(keys.map((key) => scene.redis.command('DUMP', key)));
    const all = [said, ...keys, ...dumps.map(String)].join('\n');
    expect(keys.length).toBeGreaterThan(READS);
    expect(all).toContain('{gateway:1}:state');
    for (const word of [CALLER, TOKEN, KEY, SECRET, '/api/', '@example.com', 'a-new-name']) {
      expect(all).not.toContain(word);
    }
  });

  it('is not asked for what a replica has cached', async () => {
    const query = '{ account { username } channels { nodes { name } } }';
    for (const replica of [0, 1, 0, 1]) await ask(replica, query);
    await using heard = await monitor(scene.redis.port);
    // What replicas say while no caller asks anything.
    await pause(WINDOW_MS);
    const usual = new Set(kindsOf(heard.lines()));
    const { length } = heard.lines();
    for (let nth = 0; nth < 500; nth += 1) await ask(nth % 2, query);
    const said = kindsOf(heard.lines().slice(length));
    // Beside it, they add what was saved to the usage, a few times for all.
    expect(said.filter((kind) => !usual.has(kind)).length).toBeLessThan(20);
    // Each replica states several times a second that it lives, and nothing else.
    expect(usual.size).toBeLessThanOrEqual(2);
    expect(said.length).toBeLessThan(250);
  });
});
