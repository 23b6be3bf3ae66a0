import { createHash } from 'node:crypto';
import { encode } from 'html-entities';
import type { UpstreamHealth } from '../../observe/health.ts';
import type { BudgetGauges, LiveGauges } from '../../observe/metrics.ts';
import type { Readiness } from './readiness.ts';

/** What the page shows. It names no caller and no key, since `METRICS=open` shows it to everyone. */
export interface Status {
  readonly version: string;
  readonly uptimeMs: number;
  readonly readiness: Readiness;
  readonly cache: { readonly bytes: number; readonly entries: number };
  /** `null` where there are no live queries. */
  readonly live: LiveGauges | null;
  readonly upstreams: readonly {
    readonly title: string;
    readonly budget: BudgetGauges;
    readonly health: UpstreamHealth;
    readonly reachable: boolean;
  }[];
  /** On the clock of the moments in `health`. */
  readonly now: number;
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:normal;width:14rem;vertical-align:top}
meter{width:100%;height:1.2rem}.no{color:#b00020;font-weight:bold}h2{margin-bottom:.2rem}`;

/** The page needs nothing but its own style, and may do nothing else. */
export const statusPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The state of the gateway as a page for a person; it renews itself. Costs no upstream call. */
export function statusPage(status: Status): string {
  const { version, uptimeMs, readiness, cache, live, upstreams, now } = status;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">
<meta name="viewport" content="width=device-width"><title>Gateway status</title><style>${style}</style></head>
<body><h1>Gateway</h1>
<table>
${row('State', state(readiness))}
${row('Version', encode(version))}
${row('Running for', ago(uptimeMs))}
${row('Cache entries', `${cache.entries}, about ${(cache.bytes / 1_048_576).toFixed(1)} MiB`)}
${live ? row('Live queries', `${live.groups}, looked at by ${live.streams}`) : ''}
</table>
${upstreams.map((upstream) => section(upstream, now)).join('\n')}
</body></html>
`;
}

function state({ ready, reasons, degraded }: Readiness): string {
  const wrong = [
    ...reasons.map(({ reason }) => reason),
    ...degraded.map(({ reason, upstream }) => (upstream ? `${upstream} ${reason}` : reason)),
  ];
  if (wrong.length === 0) return 'ready';
  return `<span class="no">${ready ? 'ready, but degraded' : 'not ready'}</span>: ${encode(wrong.join(', '))}`;
}

function section(
  { title, budget, health, reachable }: Status['upstreams'][number],
  now: number,
): string {
  const { queued, keys } = budget;
  const { hit, stale, shared, miss, coalesced } = health.reads;
  const reads = hit + stale + shared + miss + coalesced;
  const since = (moment: number | null): string =>
    moment === null ? 'never' : `${ago(now - moment)} ago`;
  return `<h2>${encode(title)}</h2>
<table>
${row('Budget left', keys === 0 ? 'all: nothing was asked yet' : left(budget))}
${row('Waiting', `${queued.write} writes, ${queued.interactive} reads, ${queued.refresh} refreshes`)}
${row('Served from cache', reads === 0 ? 'nothing was read yet' : `${Math.round((100 * (hit + stale + shared)) / reads)} % of ${reads} reads`)}
${row('Upstream', reachable ? 'reachable, as far as known' : '<span class="no">does not answer</span>')}
${row('Last answer', since(health.answeredAt))}
${row('Last refusal', since(health.refusedAt))}
${row('Last failure', `${since(health.failedAt)}${health.failure ? `: ${encode(health.failure)}` : ''}`)}
</table>`;
}

function left({ limit, remaining, keys, paused }: BudgetGauges): string {
  const bar = `<meter min="0" max="${limit}" low="${limit / 4}" value="${remaining}"></meter>`;
  const among = keys === 1 ? '' : ` over ${keys} keys`;
  const pause = paused > 0 ? ' <span class="no">paused by a refusal</span>' : '';
  return `${bar} ${remaining} of ${limit}${among}${pause}`;
}

function row(name: string, html: string): string {
  return `<tr><th scope="row">${name}</th><td>${html}</td></tr>`;
}

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
