import type { LoggedRequest } from '../../../src/sandbox/http/log.ts';
import { mostArrivals } from '../../support/window.ts';
import type { Ended } from './caller.ts';
import { type Creation, creationIn, fates } from './creations.ts';
import { WINDOW_MS } from './times.ts';
import type { WritesUpstream } from './upstream.ts';

/** What came of creations, as the tables of the upstream show it. */
export interface Figures {
  readonly creations: number;
  readonly kills: number;
  /** Creations with more rows than one. */
  readonly duplicates: readonly string[];
  /** Creations that a caller was told of, and that have no row. */
  readonly lost: readonly string[];
  /** Creations whose caller got the id of another row, but for that of an equal twin. */
  readonly wrongIds: readonly string[];
  /** Creations whose caller got a rejection, or no final answer. */
  readonly failed: readonly string[];
  /** Creations whose outcome stays unknown. */
  readonly unknown: readonly string[];
  readonly unknownShare: number;
  /** Requests without a valid response that a gateway has received. */
  readonly ambiguities: number;
  readonly readsPerAmbiguity: number;
  readonly mostSends: number;
  readonly mostInWindow: number;
  /** All of it as lines of a table. */
  readonly table: string;
}

/** What has happened. */
export interface Story {
  readonly upstream: WritesUpstream;
  readonly creations: readonly Creation[];
  /** By the index of the creation. */
  readonly ends: readonly Ended[];
  /** How often a gateway was killed. */
  readonly kills: number;
  /** What the gateways have logged. */
  readonly log: string;
}

/** Compares what callers were told with the tables of the upstream. */
export function figuresOf(story: Story): Figures {
  const { creations, ends, kills, log, upstream } = story;
  const logged = logOf(log);
  const { requests } = upstream;
  const sends = creations.map((): LoggedRequest[] => []);
  for (const request of requests) {
    const { body, method, path } = request;
    const number = method === 'POST' ? creationIn(`${path} ${JSON.stringify(body)}`) : null;
    if (number !== null) sends[number]?.push(request);
  }
  const stories = creations.map((creation, n) => {
    const { fate, hasTwin, noun, token } = creation;
    const end = ends[n] as Ended;
    const own = sends[n] ?? [];
    const rows = upstream.rowsOf(creation);
    const twin = upstream.twinOf(token);
    const { heard, reads } = logged.get(token) ?? { heard: 0, reads: 0 };
    const { answers, how, id, kind, unanswered } = end;
    const marks = `${creation.kills ? ', killed' : ''}${hasTwin ? `, twin ${twin}` : ''}`;
    return {
      ...end,
      fate,
      rows,
      sends: own.filter(({ refused }) => !refused).length,
      ambiguities: own.length - heard,
      reads,
      noun: noun.name,
      isOfTwin: kind === 'done' && id === twin,
      text: `${token} ${noun.name}, ${fate}${marks}: ${kind} ${id || ''} ${how}; rows ${rows.join(' ') || 'none'}; ${own.length} sends; ${unanswered} x unanswered, ${answers.join(' ')}`,
    };
  });
  type Told = (typeof stories)[number];
  const texts = (fits: (each: Told) => boolean): string[] =>
    stories.filter(fits).map(({ text }) => text);
  const reads = requests.filter(({ method }) => method === 'GET').length;
  const ambiguities = stories.reduce((sum, each) => sum + each.ambiguities, 0);
  const unknown = texts(({ kind }) => kind === 'unknown');
  const figures = {
    creations: creations.length,
    kills,
    duplicates: texts(({ rows }) => rows.length > 1),
    lost: texts(({ isOfTwin, kind, rows }) => kind === 'done' && !isOfTwin && rows.length === 0),
    wrongIds: texts(
      ({ id, isOfTwin, kind, rows }) =>
        kind === 'done' && !isOfTwin && rows.length > 0 && !rows.includes(id),
    ),
    failed: texts(({ kind }) => kind === 'rejected' || kind === 'endless'),
    unknown,
    unknownShare: unknown.length / creations.length,
    ambiguities,
    readsPerAmbiguity: reads / Math.max(1, ambiguities),
    mostSends: Math.max(...stories.map((each) => each.sends)),
    mostInWindow: mostArrivals(requests, WINDOW_MS),
  };
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const line = (name: string, all: readonly Told[]): string => {
    const ends = ['EXECUTED', 'REPLAYED', 'RECONCILED', 'unknown'].map(
      (end) => all.filter(({ how, kind }) => how === end || kind === end).length,
    );
    const numbers = [
      all.length,
      ...ends,
      sum(all.map((each) => each.ambiguities)),
      sum(all.map((each) => each.reads)),
      Math.max(0, ...all.map((each) => each.reads)),
    ];
    return `  ${name.padEnd(30)}${numbers.map((number) => String(number).padStart(11)).join('')}`;
  };
  const heads = ['all', 'executed', 'replayed', 'reconciled', 'unknown', 'lost', 'reads', 'most'];
  const lines = [
    `  ${' '.repeat(30)}${heads.map((head) => head.padStart(11)).join('')}`,
    ...fates.map((fate) =>
      line(
        fate,
        stories.filter((each) => each.fate === fate),
      ),
    ),
    ...[...new Set(stories.map(({ noun }) => noun))].map((noun) =>
      line(
        noun,
        stories.filter((each) => each.noun === noun),
      ),
    ),
  ];
  const { rows, twins } = upstream.coTenant;
  const table = [
    `${figures.creations} creations, ${figures.kills} kills, ${rows} rows of a co-tenant, ${twins} of them equal`,
    `duplicates ${figures.duplicates.length}, lost ${figures.lost.length}, wrong ids ${figures.wrongIds.length}, failed ${figures.failed.length}`,
    `unknown ${unknown.length} (${(100 * figures.unknownShare).toFixed(1)} %)`,
    `reads ${reads} for ${ambiguities} ambiguities: ${figures.readsPerAmbiguity.toFixed(2)}`,
    `sends per key at most ${figures.mostSends}; most requests in a window ${figures.mostInWindow}`,
    'Requests whose outcome was lost, reads, and the most reads of one creation:',
    ...lines,
    // A gateway that cannot save its records starts without them.
    ...log.split('\n').filter((line) => /"level":"error"|STATE_DIR/.test(line)),
    ...unknown.map((text) => `  unknown: ${text}`),
    ...stories
      .filter((each) => each.reads > Math.max(1, each.ambiguities))
      .map((each) => `  ${each.reads} reads for ${each.ambiguities} lost: ${each.text}`),
  ].join('\n');
  return { ...figures, table };
}

/** What the gateways have logged of each creation, by its token. */
function logOf(log: string): Map<string, { heard: number; reads: number }> {
  const all = new Map<string, { heard: number; reads: number }>();
  for (const line of log.split('\n')) {
    const [, token = ''] = /"requestId":"(w\d{6})"/.exec(line) ?? [];
    const known = all.get(token) ?? { heard: 0, reads: 0 };
    all.set(token, known);
    if (/"method":"GET".*"upstream (request|failed)"/.test(line)) known.reads += 1;
    if (/"method":"POST".*"upstream (request|rate limit refusal)"/.test(line)) known.heard += 1;
  }
  return all;
}
