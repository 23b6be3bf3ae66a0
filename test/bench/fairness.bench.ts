import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { createGateway } from '../../src/gateway.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { keysAreNew } from '../../src/upstream/budget/journal/journal.ts';
import { configOf } from '../support/config.ts';
import { sleepUntil } from './pace.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

/** A twentieth of the real window: with it, everything here takes a twentieth of the time. */
const WINDOW_MS = 3000;
const LIMIT = 30;
/** The first window begins with nothing spent, and does not count. */
const WINDOWS_BEFORE = 1;
const WINDOWS = 5;
const PATIENCE_WINDOWS = 2;
const NOISY = 60;

/** Nine callers who ask so often a window, beside the noisy one, and what makes the case worth a look. */
const crowds = [
  { quiet: 2, label: 'nine request less than their share' },
  { quiet: 4, label: 'nine request more than their share' },
];

interface Asked {
  readonly caller: string;
  readonly served: boolean;
  readonly waitedMs: number;
}

it('fairness', async () => {
  const cases = await Promise.all(
    crowds.map(async ({ quiet, label }) => ({ quiet, label, asked: await compete(quiet) })),
  );
  record({
    bench: 'fairness',
    about: `One caller requests ${NOISY} uncached reads per window and nine callers request a few each, within the same ${LIMIT} calls. Jain's index of what each caller received of its fair share, which is the max-min share of all served reads.`,
    figures: cases.flatMap(({ quiet, label, asked }) => figuresOf(quiet, label, asked)),
  });
});

function figuresOf(quiet: number, label: string, asked: readonly Asked[]): Figure[] {
  const callers = [...new Set(asked.map(({ caller }) => caller))].map((caller) => {
    const own = asked.filter((each) => each.caller === caller);
    return { caller, demand: own.length, served: own.filter(({ served }) => served).length };
  });
  const total = callers.reduce((sum, { served }) => sum + served, 0);
  const demands = callers.map(({ demand }) => demand);
  const shares = maxMin(demands, total);
  const parts = callers.map(({ served }, index) => served / (shares[index] ?? 1));
  const waits = (noisy: boolean) =>
    asked
      .filter(({ caller, served }) => served && (caller === 'noisy') === noisy)
      .map(({ waitedMs }) => waitedMs / WINDOW_MS);
  const noisy = callers.find(({ caller }) => caller === 'noisy');
  const others = total - (noisy?.served ?? 0);
  return [
    {
      label: `${label} (${quiet} a window): Jain’s index`,
      value: jain(parts),
      digits: 3,
      target: { atLeast: 0.95 },
      note: `served: nine ${others} of ${quiet * WINDOWS * 9}, the noisy caller ${noisy?.served} of ${noisy?.demand}`,
    },
    {
      label: `${label}: their median wait`,
      value: percentile(waits(false), 0.5),
      digits: 2,
      unit: ' windows',
      note: `of the noisy caller: ${percentile(waits(true), 0.5).toFixed(2)}`,
    },
  ];
}

/** Ten callers ask evenly, each at their own rate, for reads that no caller has made before. */
async function compete(quiet: number): Promise<Asked[]> {
  const names = ['noisy', ...Array.from({ length: 9 }, (_, index) => `quiet${index + 1}`)];
  const folder = mkdtempSync(join(tmpdir(), 'fairness-'));
  const file = join(folder, 'tokens.json');
  const sha256 = (name: string) => createHash('sha256').update(name).digest('hex');
  writeFileSync(
    file,
    formatTokenFile(names.map((name) => ({ name, role: 'viewer', sha256: sha256(name) }))),
  );
  const sandbox = await startSandbox({
    limit: { requests: LIMIT, windowMs: WINDOW_MS, mode: 'sliding', resetFormat: 'epoch-ms' },
  });
  const config = configOf({
    PORT: '0',
    LINKS_BASE_URL: sandbox.links.url,
    LINKS_API_KEY: sandbox.links.key,
    LINKS_RATE_LIMIT: String(LIMIT),
    LINKS_RATE_WINDOW_MS: String(WINDOW_MS),
    MAX_WAIT_MS: String(PATIENCE_WINDOWS * WINDOW_MS),
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: file,
    LOG_LEVEL: 'error',
  });
  const gateway = await createGateway(config, { journal: keysAreNew });
  const pool = new Pool((await gateway.listen()).url, { connections: 200 });
  const asked: Promise<Asked>[] = [];
  const ask = async (caller: string, number: number): Promise<Asked> => {
    const begun = performance.now();
    const { body } = await pool.request({
      method: 'POST',
      path: '/graphql',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${caller}`,
        prefer: `wait=${(PATIENCE_WINDOWS * WINDOW_MS) / 1000}`,
      },
      body: JSON.stringify({
        query: 'query ($name: String) { files(search: $name, first: 1) { totalCount } }',
        variables: { name: `${caller} ${number}` },
      }),
    });
    const answer = (await body.json()) as { errors?: { extensions: { code: string } }[] };
    const code = answer.errors?.[0]?.extensions.code;
    if (code !== undefined && code !== 'BUDGET_EXHAUSTED') throw new Error(code);
    return { caller, served: code === undefined, waitedMs: performance.now() - begun };
  };
  try {
    const begun = performance.now();
    await Promise.all(
      names.map(async (caller, index) => {
        const rate = caller === 'noisy' ? NOISY : quiet;
        const everyMs = WINDOW_MS / rate;
        // No caller comes first each time.
        const first = begun + (index / names.length) * everyMs;
        for (let number = 0; number < rate * (WINDOWS_BEFORE + WINDOWS); number += 1) {
          await sleepUntil(first + number * everyMs);
          const answer = ask(caller, number);
          if (number >= rate * WINDOWS_BEFORE) asked.push(answer);
        }
      }),
    );
    return await Promise.all(asked);
  } finally {
    await pool.close();
    await gateway.close();
    await sandbox.close();
    rmSync(folder, { recursive: true });
  }
}

/** Shares out this many slots: no caller gets more than they ask for, and what is left goes round again. */
function maxMin(demands: readonly number[], slots: number): number[] {
  const shares = demands.map(() => 0);
  let left = slots;
  for (;;) {
    const wanting = demands.flatMap((demand, index) =>
      (shares[index] ?? 0) < demand ? [index] : [],
    );
    if (wanting.length === 0 || left < 1e-9) return shares;
    const each = left / wanting.length;
    for (const index of wanting) {
      const more = Math.min(each, (demands[index] ?? 0) - (shares[index] ?? 0));
      shares[index] = (shares[index] ?? 0) + more;
      left -= more;
    }
  }
}

/** 1 when all parts are equal, 1/n when one has everything. */
function jain(parts: readonly number[]): number {
  const sum = parts.reduce((total, part) => total + part, 0);
  const squares = parts.reduce((total, part) => total + part * part, 0);
  return (sum * sum) / (parts.length * squares);
}
