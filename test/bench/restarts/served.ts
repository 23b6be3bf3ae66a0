import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'undici';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import type { ReceiptSummary } from '../../../src/upstream/receipt.ts';
import type { AnswerError, Row } from '../../support/gateway.ts';
import { GATEWAY, type Running, start } from '../../support/process.ts';
import { type Dashboard, dashboardsOf } from '../dashboards.ts';
import { putAway } from '../distance.ts';
import { busiestMinute } from '../freshness.ts';
import { sleepUntil } from '../pace.ts';

/** What the clients of a gateway that was killed again and again have received. */
export interface Served {
  readonly views: number;
  /** Views that were complete, without an error. */
  readonly right: number;
  /** Views that were answered within a second after a process accepted connections. */
  readonly inFirstSecond: number;
  readonly rightInFirstSecond: number;
  /** Longest time from the moment a process accepts connections to the first response, in ms. */
  readonly firstAnswerMs: number;
  /** Responses with data that is older than the response reports. */
  readonly olderThanReported: number;
  /** Responses with a state that an answered write had replaced before the request. */
  readonly beforeAnsweredWrite: number;
  readonly writes: number;
  readonly calls: number;
  readonly busiestMinute: number;
  readonly codes: readonly string[];
}

interface Answer {
  readonly data?: Row;
  readonly errors?: readonly AnswerError[];
  readonly extensions?: { readonly upstream?: ReceiptSummary };
}

/** One name that the editor has given, and when the gateway answered that write. */
interface Name {
  readonly name: string;
  answeredAt: number;
}

const DISTANCE_MS = 40;
const VIEWS_A_SECOND = 20;
/** Long enough that the first reads of all pages are outside the window when the first kill comes. */
const WARM_MS = 65_000;
const WRITE_EVERY_MS = 7000;

/**
 * Kills the built gateway again and again while pages are viewed at an even pace and one campaign is
 * renamed. A client sends a request again, with the same idempotency key, if its connection breaks.
 */
export async function serveOverRestarts(restarts: number): Promise<Served> {
  const sandbox = await startSandbox({ limit: { mode: 'sliding' } });
  const dashboards = await dashboardsOf(sandbox);
  const upstream = await putAway(sandbox.links.url, DISTANCE_MS);
  const folder = mkdtempSync(join(tmpdir(), 'served-'));
  let port = '0';
  const launch = async (): Promise<Running> => {
    const running = start(process.execPath, GATEWAY, {
      cwd: new URL('../../..', import.meta.url).pathname,
      env: {
        PORT: port,
        AUTH_MODE: 'none',
        STATE_DIR: folder,
        LINKS_BASE_URL: upstream.url,
        LINKS_API_KEY: sandbox.links.key,
      },
    });
    port = (await running.says(/http:\/\/localhost:(\d+)\/graphql/))[1] ?? '';
    listening.push(performance.now());
    return running;
  };
  const listening: number[] = [];
  let running = await launch();
  const pool = new Pool(`http://localhost:${port}`, { connections: 100 });
  const post = async (body: string, key?: string): Promise<Answer> => {
    while (true) {
      try {
        const response = await pool.request({
          method: 'POST',
          path: '/graphql',
          headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
          body,
        });
        return (await response.body.json()) as Answer;
      } catch {
        await sleep(20);
      }
    }
  };
  const names: Name[] = [{ name: '', answeredAt: 0 }];
  const views: View[] = [];
  const view = async ({ body, expected }: Dashboard | typeof campaign): Promise<void> => {
    const begun = performance.now();
    const answered = names.findLastIndex(({ answeredAt }) => answeredAt <= begun);
    const { data, errors, extensions } = await post(body);
    const at = performance.now();
    const code = errors && String(errors[0]?.extensions?.code);
    const shown = expected ? undefined : String((data?.['campaign'] as Row | null)?.['name']);
    const index = names.findIndex(({ name }) => name === shown);
    const until = names[index + 1]?.answeredAt ?? Number.POSITIVE_INFINITY;
    views.push({
      at,
      code,
      isRight: expected ? isDeepStrictEqual(data, expected) : index >= 0,
      isBefore: shown !== undefined && index < answered,
      isOlder: shown !== undefined && until < begun - (extensions?.upstream?.maxAgeMs ?? 0),
    });
  };
  const [row] = (
    (await post(JSON.stringify({ query: '{ campaigns { nodes { id name } } }' })))
      .data as unknown as {
      campaigns: { nodes: readonly { id: string; name: string }[] };
    }
  ).campaigns.nodes;
  if (!row) throw new Error('The sandbox has no campaign.');
  names[0] = { name: row.name, answeredAt: 0 };
  const campaign = {
    body: JSON.stringify({ query: `{ campaign(id: "${row.id}") { name } }` }),
    expected: undefined,
  };
  const over = new AbortController();
  const pages = [...dashboards, campaign];
  const viewing = (async () => {
    const all: Promise<void>[] = [];
    for (let number = 0, begin = performance.now(); !over.signal.aborted; number += 1) {
      await sleepUntil(begin + (number * 1000) / VIEWS_A_SECOND);
      all.push(view(pages[number % pages.length] as Dashboard));
    }
    await Promise.all(all);
  })();
  await sleep(WARM_MS);
  views.length = 0;
  const editing = (async () => {
    while (!over.signal.aborted) {
      const name = `renamed ${names.length}`;
      const each: Name = { name, answeredAt: Number.POSITIVE_INFINITY };
      names.push(each);
      const query = `mutation { updateCampaign(input: { id: "${row.id}", name: "${name}" }) { ... on Campaign { id } } }`;
      const key = randomUUID();
      while ((await post(JSON.stringify({ query }), key)).errors) await sleep(500);
      each.answeredAt = performance.now();
      await sleep(WRITE_EVERY_MS * (0.5 + Math.random()));
    }
  })();
  for (let round = 0; round < restarts; round += 1) {
    await sleep(2000 + Math.random() * 4000);
    running.child.kill('SIGKILL');
    await running.ended;
    running = await launch();
  }
  await sleep(3000);
  over.abort();
  await Promise.all([viewing, editing]);
  await pool.destroy();
  running.child.kill();
  await running.ended;
  await upstream.close();
  await sandbox.close();
  rmSync(folder, { recursive: true });
  const starts = listening.slice(1);
  const early = views.filter(({ at }) => starts.some((from) => at >= from && at < from + 1000));
  const isServed = ({ isRight, code }: View): boolean => isRight && code === undefined;
  return {
    views: views.length,
    right: views.filter(isServed).length,
    inFirstSecond: early.length,
    rightInFirstSecond: early.filter(isServed).length,
    firstAnswerMs: Math.max(
      ...starts.map(
        (from) => Math.min(...views.map(({ at }) => at).filter((at) => at > from)) - from,
      ),
    ),
    olderThanReported: views.filter(({ isOlder }) => isOlder).length,
    beforeAnsweredWrite: views.filter(({ isBefore }) => isBefore).length,
    writes: names.filter(
      ({ answeredAt }) => answeredAt > 0 && answeredAt < Number.POSITIVE_INFINITY,
    ).length,
    calls: sandbox.links.requests.length,
    busiestMinute: busiestMinute(sandbox.links.requests.map(({ at }) => at)),
    codes: [...new Set(views.flatMap(({ code }) => code ?? []))],
  };
}

interface View {
  /** When its response arrived, on `performance.now()`. */
  readonly at: number;
  readonly code: string | undefined;
  readonly isRight: boolean;
  readonly isBefore: boolean;
  readonly isOlder: boolean;
}
