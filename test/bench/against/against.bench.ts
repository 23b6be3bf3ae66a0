import { execFileSync } from 'node:child_process';
import { it } from 'vitest';
import { GATEWAY, start } from '../../support/process.ts';
import { percentile, record } from '../report/measurement.ts';

/** Another checkout of the project, installed: its figures stand under the line. */
const OTHER = process.env['AGAINST'];
/** Starts of each, by turns. */
const PAIRS = 7;
const WARM = 1500;

const DASHBOARD = JSON.stringify({
  query:
    '{ account { username } channels(first: 10) { nodes { name items(first: 5) { nodes { __typename } } } } }',
});

/** What one process took, in milliseconds. */
interface Times {
  /** From its start to the first answer. */
  readonly start: number;
  /** The first dashboard: twelve calls of the sandbox in the same process. */
  readonly cold: number;
  /** The same from the cache, one at a time, each. */
  readonly warm: number;
}

it.runIf(OTHER)('is no slower than another checkout', { timeout: 600_000 }, async () => {
  const folders = ['.', String(OTHER)] as const;
  for (const cwd of folders) {
    execFileSync('npm', ['run', '--silent', 'build'], { cwd, stdio: 'inherit' });
  }
  const pairs: { readonly ours: Times; readonly theirs: Times }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    // By turns, so that whatever else the machine does weighs on both alike.
    pairs.push({ ours: await measure(folders[0]), theirs: await measure(folders[1]) });
  }
  const figure = (label: string, time: keyof Times) => ({
    label,
    value: percentile(
      pairs.map(({ ours, theirs }) => ours[time] / theirs[time]),
      0.5,
    ),
    digits: 2,
    note: ['ours', 'theirs']
      .map((side) => pairs.map((pair) => pair[side as 'ours' | 'theirs'][time]))
      .map((times) => `${percentile(times, 0.5).toFixed(2)} ms`)
      .join(' over '),
  });
  record({
    bench: 'against',
    about: `Starts this checkout and the one in AGAINST by turns, ${PAIRS} times, and asks each for the same.`,
    figures: [
      figure('time to the first answer', 'start'),
      figure('first dashboard', 'cold'),
      figure('dashboard from the cache', 'warm'),
    ],
  });
});

async function measure(cwd: string): Promise<Times> {
  const begin = performance.now();
  const gateway = start(process.execPath, GATEWAY, {
    cwd,
    env: { PORT: '0', LOG_LEVEL: 'warn' },
  });
  const [, url = ''] = await gateway.says(/(http:\/\/[^\s"]+\/graphql)/);
  await ask(url, '{"query":"{ __typename }"}');
  const started = performance.now();
  await ask(url, DASHBOARD);
  const cold = performance.now() - started;
  for (let n = 0; n < WARM / 5; n += 1) await ask(url, DASHBOARD);
  const warmed = performance.now();
  for (let n = 0; n < WARM; n += 1) await ask(url, DASHBOARD);
  const warm = (performance.now() - warmed) / WARM;
  gateway.child.kill('SIGKILL');
  await gateway.ended;
  return { start: started - begin, cold, warm };
}

async function ask(url: string, body: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { errors } = (await response.json()) as { readonly errors?: unknown };
  if (errors) throw new Error(JSON.stringify(errors));
}
