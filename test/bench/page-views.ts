import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'undici';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ReceiptSummary } from '../../src/upstream/receipt.ts';
import { type AnswerError, PLENTY, type Row } from '../support/gateway.ts';
import { GATEWAY, start } from '../support/process.ts';
import { type Dashboard, dashboardsOf } from './dashboards.ts';
import { putAway } from './distance.ts';
import { busiestMinute } from './freshness.ts';
import { sleepUntil } from './pace.ts';
import { ranBefore } from './ran-before.ts';

/** What the upstream allows, and who else spends it. */
export interface Upstream {
  /** How it counts its 30 a minute; `null` when it allows everything. */
  readonly mode: 'fixed' | 'sliding' | null;
  /** When somebody else spends how much of the same key. */
  readonly bursts?: readonly Burst[];
}

interface Burst {
  readonly atMs: number;
  readonly calls: number;
}

/** What became of the views. */
export interface Traffic {
  readonly views: number;
  /** Views that show just what the upstream has. */
  readonly right: number;
  /** Views with an error in them, or with none but not answered. */
  readonly errors: number;
  /** Milliseconds that answers took which needed no upstream call, and waited for none. */
  readonly warmMs: readonly number[];
  /** Age of the oldest data shown. */
  readonly oldestMs: number;
  /** Requests that reached the upstream. */
  readonly calls: number;
  readonly busiestMinute: number;
  /** Requests that the upstream refused. */
  readonly refused: number;
  /** How many of those followed each burst of somebody else's, before the next. */
  readonly refusedAfter: readonly number[];
  /** The codes of the errors that were shown. */
  readonly codes: readonly string[];
}

/** How far away the upstream is, each way: with none of it, answers come before a batch has left. */
const DISTANCE_MS = 40;
/** After each burst somebody opens a page that needs this many reads that no caller has made before. */
const UNREAD = 4;
const UNREAD_AFTER_MS = 1500;

interface View {
  readonly ms: number;
  readonly right: boolean;
  /** Of its first error, if there is one. */
  readonly code: string | undefined;
  readonly receipt: ReceiptSummary | undefined;
}

/** A gateway over a sandbox, to which no caller has sent anything yet. */
export interface Stage {
  /**
   * Sends page views at an even pace from a moment on, on `performance.now()`; then closes everything.
   */
  play(begin: number, forMs: number): Promise<Traffic>;
}

const VIEWS_A_SECOND = 20;

/** Starts a gateway in a process of its own, with the settings that it has from the start. */
export async function setStage({ mode, bursts = [] }: Upstream): Promise<Stage> {
  const sandbox = await startSandbox({
    limit: mode === null ? { requests: PLENTY } : { mode },
  });
  const dashboards = await dashboardsOf(sandbox);
  const upstream = await putAway(sandbox.links.url, DISTANCE_MS);
  const gateway = start(process.execPath, GATEWAY, {
    cwd: new URL('../..', import.meta.url).pathname,
    env: {
      PORT: '0',
      AUTH_MODE: 'none',
      MAX_WAIT_MS: '180000',
      STATE_DIR: await ranBefore(),
      LINKS_BASE_URL: upstream.url,
      LINKS_API_KEY: sandbox.links.key,
      ...(mode === null ? { LINKS_RATE_LIMIT: String(PLENTY) } : {}),
    },
  });
  const [url] = await gateway.says(/http:\/\/[^\s/]+/);
  const pool = new Pool(url, { connections: 100 });
  return {
    async play(begin, forMs) {
      try {
        const burstsAt: number[] = [];
        const views: Promise<View>[] = [];
        const spending = bursts.map(async (burst, index) => {
          await sleepUntil(begin + burst.atMs);
          burstsAt.push(Date.now());
          sandbox.links.spend(burst.calls);
          await sleepUntil(begin + burst.atMs + UNREAD_AFTER_MS);
          views.push(view(pool, unreadPage(index)));
        });
        const count = Math.round((forMs / 1000) * VIEWS_A_SECOND);
        for (let number = 0; number < count; number += 1) {
          await sleepUntil(begin + (number * 1000) / VIEWS_A_SECOND);
          views.push(view(pool, dashboards[number % dashboards.length] as Dashboard));
        }
        await Promise.all(spending);
        return summary(await Promise.all(views), sandbox, burstsAt);
      } finally {
        await pool.destroy();
        gateway.child.kill();
        await gateway.ended;
        await upstream.close();
        await sandbox.close();
      }
    },
  };
}

/** A search that finds nothing, several times over; its caller is prepared to wait. */
function unreadPage(number: number): Dashboard {
  const names = Array.from({ length: UNREAD }, (_, index) => `s${index}`);
  const fields = names.map(
    (name) => `${name}: files(search: "nothing ${number} ${name}", first: 1) { totalCount }`,
  );
  return {
    body: JSON.stringify({ query: `{ ${fields.join(' ')} }` }),
    expected: Object.fromEntries(names.map((name) => [name, { totalCount: 0 }])),
    patience: 'wait=180',
  };
}

async function view(pool: Pool, { body, expected, patience }: Dashboard): Promise<View> {
  const begun = performance.now();
  try {
    const response = await pool.request({
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json', prefer: patience ?? 'wait=10' },
      body,
      headersTimeout: 200_000,
    });
    const text = await response.body.text();
    const ms = performance.now() - begun;
    const { data, errors, extensions } = JSON.parse(text) as {
      data?: Row;
      errors?: AnswerError[];
      extensions?: { upstream?: ReceiptSummary };
    };
    const right = isDeepStrictEqual(data, expected);
    const code = errors && String(errors[0]?.extensions?.code);
    return { ms, right, code, receipt: extensions?.upstream };
  } catch (error) {
    const code = error instanceof Error ? error.message : 'unknown';
    return { ms: performance.now() - begun, right: false, code, receipt: undefined };
  }
}

function summary(views: readonly View[], { links }: Sandbox, burstsAt: readonly number[]): Traffic {
  const refusals = links.requests.filter(({ refused }) => refused).map(({ at }) => at);
  const refusedAfter = burstsAt.map((from, index) => {
    const to = burstsAt[index + 1] ?? Number.POSITIVE_INFINITY;
    return refusals.filter((at) => at >= from && at < to).length;
  });
  return {
    views: views.length,
    right: views.filter(({ right, code }) => right && code === undefined).length,
    errors: views.filter(({ code }) => code !== undefined).length,
    warmMs: views.filter(({ receipt }) => receipt && isWarm(receipt)).map(({ ms }) => ms),
    oldestMs: Math.max(...views.map(({ receipt }) => receipt?.maxAgeMs ?? 0)),
    calls: links.requests.length,
    busiestMinute: busiestMinute(links.requests.map(({ at }) => at)),
    refused: refusals.length,
    refusedAfter,
    codes: [...new Set(views.flatMap(({ code }) => code ?? []))],
  };
}

function isWarm({ calls, saved, waitedMs }: ReceiptSummary): boolean {
  return calls === 0 && saved.coalesced === 0 && waitedMs === 0;
}
