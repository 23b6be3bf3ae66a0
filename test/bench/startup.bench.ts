import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { GATEWAY, start } from '../support/process.ts';
import { percentile, record } from './report/measurement.ts';

/** Starts of each, by turns. */
const PAIRS = 9;

/** The least that Yoga needs to answer: what any server built on it pays. */
const bareServer = `
import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';
const yoga = createYoga({ schema: createSchema({ typeDefs: 'type Query { hello: String }' }), logging: false });
const server = createServer(yoga).listen(0, '127.0.0.1', () => {
  console.log('http://127.0.0.1:' + server.address().port + '/graphql');
});
`;

it('startup', async () => {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
  // Beside the gateway's own files, where it finds the same libraries.
  const file = join('dist', 'bare-server.mjs');
  writeFileSync(file, bareServer);
  const gateways: number[] = [];
  const bares: number[] = [];
  // By turns, so that whatever else the machine does weighs on both alike.
  for (let pair = 0; pair < PAIRS; pair += 1) {
    bares.push(await firstAnswer([file]));
    gateways.push(await firstAnswer(GATEWAY));
  }
  rmSync(file);
  const ratios = gateways.map((ms, pair) => ms / (bares[pair] ?? Number.NaN));
  const [gateway, bare, ratio] = [gateways, bares, ratios].map((values) => percentile(values, 0.5));
  record({
    bench: 'startup',
    about:
      'Starts the built gateway and a bare Yoga server in turns, until the first response of each.',
    figures: [
      {
        label: 'time to the first response, over that of a bare Yoga server',
        value: ratio ?? Number.NaN,
        digits: 2,
        target: { atMost: 1 },
        note: `${Math.round(gateway ?? 0)} ms over ${Math.round(bare ?? 0)} ms, medians of ${PAIRS} pairs`,
      },
    ],
  });
});

/** Milliseconds from a start to the first answer. A sandbox is no part of production, so there is none. */
async function firstAnswer(args: readonly string[]): Promise<number> {
  const env = {
    NODE_ENV: 'production',
    PORT: '0',
    LINKS_BASE_URL: 'http://127.0.0.1:9',
    LINKS_API_KEY: 'unused',
    AUTH_MODE: 'none',
  };
  const startedAt = performance.now();
  const process = start(globalThis.process.execPath, args, { cwd: '.', env });
  const [, url = ''] = await process.says(/(http:\/\/[^\s"]+\/graphql)/);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ __typename }"}',
  });
  await response.text();
  const ms = performance.now() - startedAt;
  process.child.kill('SIGKILL');
  await process.ended;
  if (response.status !== 200) throw new Error(`${args.at(-1)} answered ${response.status}`);
  return ms;
}
