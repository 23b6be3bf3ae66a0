import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { it } from 'vitest';
import { Agent } from '../support/agent.ts';
import { GATEWAY, start } from '../support/process.ts';
import { percentile, record } from './report/measurement.ts';

/** Starts with and without `/mcp`, by turns. */
const PAIRS = 9;
/** When what is loaded after a start is there, in milliseconds. */
const AT_REST_MS = 3500;

it('mcp', async () => {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
  const withMcp: Observed[] = [];
  const without: Observed[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    without.push(await observe(false));
    withMcp.push(await observe(true));
  }
  const first = withMcp.map(({ firstMs }) => firstMs);
  const ratios = withMcp.map(({ restMb }, pair) => restMb / (without[pair]?.restMb ?? Number.NaN));
  const [firstMs, ratio, restMb, loadedMb] = [
    first,
    ratios,
    withMcp.map((each) => each.restMb),
    withMcp.map((each) => each.loadedMb),
  ].map((values) => percentile(values, 0.5) ?? Number.NaN);
  record({
    bench: 'mcp',
    about: `Starts the built gateway with and without /mcp in turns, ${PAIRS} times each, and reads its memory ${AT_REST_MS / 1000} s later, before any request; then measures the first request to /mcp, which loads the library of the protocol.`,
    figures: [
      {
        label: 'memory at rest, over that without /mcp',
        value: ratio ?? Number.NaN,
        digits: 3,
        target: { atMost: 1.02 },
        note: `${Math.round(restMb ?? 0)} MB, ${Math.round(loadedMb ?? 0)} MB after the first request to /mcp; medians`,
      },
      {
        label: 'time to the first response of /mcp, the longest',
        value: Math.max(...first),
        unit: 'ms',
        digits: 0,
        target: { atMost: 400 },
        note: `${Math.round(firstMs ?? 0)} ms in the middle`,
      },
    ],
  });
});

interface Observed {
  readonly restMb: number;
  /** After the first request to `/mcp`. */
  readonly loadedMb: number;
  readonly firstMs: number;
}

async function observe(hasMcp: boolean): Promise<Observed> {
  const env = {
    NODE_ENV: 'production',
    PORT: '0',
    LINKS_BASE_URL: 'http://127.0.0.1:9',
    LINKS_API_KEY: 'unused',
    AUTH_MODE: 'none',
    MCP: String(hasMcp),
    STATE_DIR: 'off',
  };
  const process = start(globalThis.process.execPath, GATEWAY, { cwd: '.', env });
  const [, url = ''] = await process.says(/(http:\/\/[^\s"]+)\/graphql/);
  await setTimeout(AT_REST_MS);
  const restMb = residentMb(process.child.pid);
  const startedAt = performance.now();
  if (hasMcp) await new Agent(url).tools();
  const firstMs = performance.now() - startedAt;
  const loadedMb = residentMb(process.child.pid);
  process.child.kill('SIGKILL');
  await process.ended;
  return { restMb, loadedMb, firstMs };
}

/** The memory of a process, in megabytes. */
function residentMb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
