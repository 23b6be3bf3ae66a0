import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../support/needs.ts';
import { GATEWAY, type Running, start } from '../../support/process.ts';
import { gatewayLacks } from './lacking.ts';
import { runSuite, suite, surprises } from './suite.ts';

const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

describeWith(suite, 'in the conformance suite of the protocol', () => {
  let gateway: Running;
  beforeAll(() => {
    gateway = start(process.execPath, GATEWAY, { cwd: '.', env: { PORT: '0', STATE_DIR: 'off' } });
  });
  afterAll(async () => {
    gateway.child.kill('SIGTERM');
    await gateway.ended;
  });

  it.each(REVISIONS)('the gateway passes all of %s that it offers', async (revision) => {
    const [, url = ''] = await gateway.says(/^GraphQL +(http:\S+?)\/graphql/m);
    expect(surprises(await runSuite(url, revision), gatewayLacks[revision])).toEqual([]);
  });
});
