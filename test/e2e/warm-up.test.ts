import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GATEWAY, start } from '../support/process.ts';
import { ScriptedUpstream } from '../support/scripted-upstream.ts';

it('runs a cold read before the first caller comes, of which nothing stays', async () => {
  await using upstream = await ScriptedUpstream.start();
  const folder = mkdtempSync(join(tmpdir(), 'warm-up-'));
  const args = ['--trace-wasm-compilation-times', ...GATEWAY];
  const env = {
    PORT: '0',
    NODE_ENV: 'production',
    LOG_LEVEL: 'debug',
    AUTH_MODE: 'none',
    LINKS_BASE_URL: upstream.baseUrl,
    LINKS_API_KEY: 'key',
    STATE_DIR: folder,
  };
  const gateway = start(process.execPath, args, { cwd: '.', env });
  const [, url = ''] = await gateway.says(/(http:[^\s"]+)\/graphql/);
  // The parser of upstream answers is compiled when the first of them comes.
  await gateway.says(/using Liftoff/);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBe(0);
  const logged = gateway.output().match(/(?<="msg":")[^"]*/g);
  expect(logged).toEqual(['started', 'stopping', 'stopped']);
  expect(metrics.match(/^gateway_\w*(_total|_count)\b.* [1-9].*/gm)).toBeNull();
  const journal = readFileSync(join(folder, 'leases.log'), 'utf8');
  expect(journal.trimEnd().split('\n')).toHaveLength(2);
  expect(upstream.log).toHaveLength(0);
  rmSync(folder, { recursive: true });
});
