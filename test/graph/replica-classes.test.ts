import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import type { World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { replicaStage } from '../support/replica-worlds.ts';

const QUOTA = 3;
/** Each costs one request. */
const READS = ['account { username }', ...['pixels', 'domains', 'campaigns'].map(firstOf)];

function firstOf(list: string): string {
  return `${list}(first: 1) { nodes { id } }`;
}

describeWith(redisServer, 'A class of callers on replicas', () => {
  const stage = replicaStage();
  const folder = mkdtempSync(join(tmpdir(), 'replica-classes-'));
  const file = join(folder, 'tokens.json');
  const of = (name: string) => ({ name, role: 'admin', sha256: hash('sha256', name) }) as const;
  writeFileSync(file, formatTokenFile([of('person'), { ...of('bot'), class: 'agent' }]));
  afterAll(() => rmSync(folder, { recursive: true }));

  const ask = (world: World | undefined, token: string, fields: string) => {
    if (!world) throw new Error('no replica');
    return world.ask(`{ ${fields} }`, undefined, { authorization: `Bearer ${token}` });
  };

  it('has one quota for all of them', async () => {
    const env = {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      CALLER_CLASSES: `{"agent": {"maxCallsPerDay": ${QUOTA}}}`,
    };
    const [one, other] = await stage.start(2, { env });
    for (const [index, read] of READS.slice(0, QUOTA).entries()) {
      expect((await ask(index % 2 === 0 ? one : other, 'bot', read)).errors).toEqual([]);
    }
    const next = READS[QUOTA] ?? '';
    for (const world of [one, other]) {
      const { errors } = await ask(world, 'bot', next);
      expect(errors[0]?.extensions).toMatchObject({
        code: 'BUDGET_EXHAUSTED',
        quota: { class: 'agent', window: 'DAY', limit: QUOTA },
      });
      const { data } = await ask(world, 'bot', 'rateLimit { quotas { used remaining } }');
      expect(data['rateLimit']).toEqual({ quotas: [{ used: QUOTA, remaining: 0 }] });
    }
    expect(stage.sandbox.links.requests).toHaveLength(QUOTA);
    expect((await ask(other, 'person', next)).errors).toEqual([]);
    // What another class has read is free for this one, on all replicas.
    const { errors, receipt } = await ask(one, 'bot', next);
    expect([errors, receipt.calls]).toEqual([[], 0]);
  });
});
