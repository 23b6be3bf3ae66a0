import type {
  CacheState,
  ConsoleState,
  JobRow,
  OperationState,
  ShownClass,
  SpenderState,
  WaitingState,
} from '../../src/console/console-state.ts';
import { type Child, html, span } from '../dom.ts';
import {
  count,
  counted,
  duration,
  inTime,
  share,
  sizeText,
  spanInWords,
  timePassed,
} from '../words.ts';
import { callersInCell } from './callers.ts';
import { headingOf } from './failures.ts';
import { ownerLabel } from './lanes.ts';
import { barred, type Column, heading, table } from './table.ts';

/** A number that stands out unless it is 0. */
const unlessNone = (number: number, mood = ''): Child =>
  span(number > 0 ? mood : 'muted', count(number));

const waitingColumns: readonly Column<WaitingState>[] = [
  ['Starts', 'number', leaves],
  ['Lane', 'text', ({ lane }) => ownerLabel(lane)],
  ['Resource', 'text', ({ resource }) => resource],
  [
    'Operation',
    'text',
    ({ lane, operation }) =>
      operation === null
        ? span('muted', lane === 'refresh' ? '–' : 'unnamed')
        : span('name', operation),
  ],
  ['Caller', 'text', (row) => callersInCell([row])],
  ['Waited', 'number', ({ waitedMs }) => timePassed(waitedMs)],
];

/** Refreshes and jobs give way to other requests, so that their times are not known. */
function leaves({ fails, leavesInMs }: WaitingState): string {
  if (leavesInMs === null) return 'when idle';
  return fails ? `fails ${inTime(leavesInMs)}` : inTime(leavesInMs);
}

/** Which requests wait for a slot, and when each is sent. */
export function waiting({ waiting: rows, waitingCount }: ConsoleState): Child {
  const others = waitingCount - rows.length;
  return [
    heading('Waiting now', waitingCount > 0 ? String(waitingCount) : '', 'sum'),
    table(
      'Waiting now',
      'No waiting requests.',
      waitingColumns,
      rows,
      ({ caller, callerClass, lane, operation, resource, upstream }) =>
        [upstream, lane, resource, operation, callerClass, caller].join(' '),
    ),
    others > 0 ? html('p', { class: 'more muted' }, `and ${count(others)} more`) : null,
  ];
}

/** Who spent the requests of the last hour in this process, and on what. */
export function spenders(state: ConsoleState): Child {
  const { named, spenders: rows } = state;
  const all = rows.reduce((sum, { sends }) => sum + sends, 0);
  const most = Math.max(1, ...rows.map(({ sends }) => sends));
  const columns: Column<SpenderState>[] = [
    [
      'Caller',
      'text',
      ({ callerClass, kind, name }) => {
        if (kind === 'refreshes') return ownerLabel('refresh', 'Refreshes');
        if (kind === 'foreign') return ownerLabel('co-tenant', 'Co-tenants');
        return callersInCell([{ caller: name, callerClass }], 'unnamed');
      },
    ],
    ['Requests', 'number', ({ kind, sends }) => barred(sends / most, lanes[kind], count(sends))],
    ['Share', 'number', ({ sends }) => share(sends, all)],
    ['Resources', 'long', spentOn],
  ];
  return [
    heading('Requests by caller', spanInWords(state)),
    table('Requests by caller', 'No requests sent.', columns, rows, (row) =>
      [row.kind, row.callerClass, row.name].join(' '),
    ),
    named
      ? null
      : html(
          'p',
          { class: 'more muted' },
          'Caller names are shown on the gateway’s machine, and after you enter an admin token above.',
        ),
  ];
}

const lanes = { caller: 'interactive', refreshes: 'refresh', foreign: 'co-tenant' };

function spentOn({ resources, sends }: SpenderState): string {
  const parts = resources.map((each) => `${each.resource} ${count(each.sends)}`);
  const rest = sends - resources.reduce((sum, each) => sum + each.sends, 0);
  if (parts.length > 0 && rest > 0) parts.push(`others ${count(rest)}`);
  return parts.join(', ') || '–';
}

/** Exports with their progress. */
export function jobs({ at, jobs: all }: ConsoleState): Child {
  const { open, rows, total } = all;
  const columns: Column<JobRow>[] = [
    ['ID', 'text', ({ id }) => span('id', id)],
    ['Name', 'text', ({ name }) => span('name', name)],
    ['Caller', 'text', (row) => callersInCell([row])],
    ['State', 'text', ({ state }) => span(`tag ${moods.get(state) ?? ''}`, state.toLowerCase())],
    ['Rows', 'text', rowsOf],
    [
      'Requests',
      'text',
      ({ calls, callsLeft }) =>
        callsLeft === null ? count(calls) : `${count(calls)}, about ${count(callsLeft)} left`,
    ],
    ['Ready', 'number', ({ readyAt }) => (readyAt === null ? '–' : inTime(readyAt - at))],
    ['Failures', 'number', ({ failures }) => unlessNone(failures, 'bad')],
    ['Reason', 'long', ({ error }) => error],
  ];
  const shown = total > rows.length ? `, ${count(rows.length)} of ${count(total)} shown` : '';
  return [
    heading('Jobs', open > 0 ? `${count(open)} open${shown}` : '', 'sum'),
    table(
      'Jobs',
      'No jobs. Start one with startExport in GraphQL, or with the command export.',
      columns,
      rows,
      ({ id }) => id,
    ),
    open > 0
      ? html(
          'p',
          { class: 'more muted' },
          'Administrators pause, resume and cancel jobs with pauseJob, resumeJob and cancelJob in GraphQL.',
        )
      : null,
  ];
}

const moods = new Map([
  ['DONE', 'good'],
  ['FAILED', 'bad'],
  ['PAUSED', 'warn'],
]);

function rowsOf({ rowsDone, rowsTotal }: JobRow): Child {
  if (rowsTotal === null) return count(rowsDone);
  return barred(
    rowsTotal && rowsDone / rowsTotal,
    'bulk',
    `${count(rowsDone)} of ${count(rowsTotal)}`,
  );
}

/** The classes of callers: what they sent, and what is used of their limits; nothing if none is configured. */
export function classes(state: ConsoleState): Child {
  const rows = state.classes;
  if (rows.length === 0) return null;
  const all = rows.reduce((sum, { sends }) => sum + sends, 0);
  const columns: Column<ShownClass>[] = [
    ['Class', 'text', ({ name }) => span('name', name)],
    ['Weight', 'number', ({ weight }) => count(weight)],
    ['Requests', 'number', ({ sends }) => count(sends)],
    ['Share', 'number', ({ sends }) => share(sends, all)],
    ['Waiting', 'number', ({ waiting: times }) => unlessNone(times)],
    ['Limits', 'long', (row) => limitsOf(row, state)],
  ];
  return [
    heading('Classes', spanInWords(state)),
    table('Classes', '', columns, rows, ({ name }) => name),
  ];
}

function limitsOf({ quotas }: ShownClass, { upstreams }: ConsoleState): Child {
  if (quotas.length === 0) return span('muted', 'none');
  return upstreams.map(({ title, upstream, windowMs }) => {
    const own = quotas.filter((quota) => quota.upstream === upstream);
    const parts = own.map(({ limit, nextInMs, used }) => {
      const interval = windowMs === 60_000 ? 'minute' : timePassed(windowMs);
      const next = nextInMs > 0 && limit > 0 ? ` (next ${inTime(nextInMs)})` : '';
      return `${count(used)} of ${count(limit)} per ${interval}${next}`;
    });
    const isUsedUp = own.some(({ limit, used }) => limit > 0 && used >= limit);
    const line = `${headingOf(title)}: ${parts.join(', ')}`;
    return own.length > 0 ? html('p', { class: isUsedUp ? 'bad' : null }, line) : null;
  });
}

const operationColumns: readonly Column<OperationState>[] = [
  ['Operation', 'text', ({ name }) => span(name === null ? 'muted' : 'name', name ?? 'unnamed')],
  ['Type', 'text', ({ type }) => span('muted', type)],
  ['Runs', 'number', ({ runs }) => count(runs)],
  ['Upstream requests', 'number', ({ calls }) => count(calls)],
  ['Saved', 'number', ({ calls, saved }) => share(saved, saved + calls)],
  [
    'Wait p95',
    'number',
    ({ waitP95Ms }) => span(waitP95Ms < 1 ? 'muted' : '', duration(waitP95Ms)),
  ],
  ['Duration p95', 'number', ({ durationP95Ms }) => duration(durationP95Ms)],
  ['Errors', 'number', ({ errors }) => unlessNone(errors, 'bad')],
];

/** What operations cost, and how long they took. */
export function operations(state: ConsoleState): Child {
  return [
    heading('Operations', spanInWords(state)),
    table(
      'Operations',
      'No operations.',
      operationColumns,
      state.operations,
      ({ name, type }) => `${type} ${name}`,
    ),
  ];
}

const cacheColumns: readonly Column<CacheState>[] = [
  [
    'Resource',
    'text',
    ({ hint, resource }) => [resource, hint === null ? null : span('hint', hint)],
  ],
  ['Fresh', 'number', ({ fresh }) => count(fresh)],
  ['Stale', 'number', ({ stale }) => unlessNone(stale)],
  ['Oldest', 'number', ({ oldestMs }) => (oldestMs === null ? '–' : timePassed(oldestMs))],
  ['TTL', 'number', ({ ttlMs }) => span('muted', timePassed(ttlMs))],
  [
    'Hits',
    'number',
    ({ hits, reads }) => barred(reads && hits / reads, 'good', share(hits, reads)),
  ],
  ['Refreshes', 'number', ({ renewals }) => unlessNone(renewals)],
];

/** What is kept of each resource, how old it is, and what it spares. */
export function cache({ cache: { bytes, entries, maxBytes, resources } }: ConsoleState): Child {
  const kept = counted(entries, 'entry', 'entries');
  return [
    heading('Cache', `${kept}, ${sizeText(bytes)} of ${sizeText(maxBytes)}`),
    table(
      'Cache',
      'The cache is empty.',
      cacheColumns,
      resources,
      ({ resource, upstream }) => `${upstream} ${resource}`,
    ),
  ];
}
