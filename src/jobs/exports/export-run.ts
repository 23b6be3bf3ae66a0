import type { GraphQLFormattedError } from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';
import { GatewayError, type UpstreamName } from '../../errors.ts';
import type { OperationPlan } from '../../upstream/dry-run/dry-run.ts';
import type { JobProgress, JobRecord } from '../job.ts';
import type { JobExecution, JobOperations } from '../job-operations.ts';
import type { JobStep, JobWork } from '../job-step.ts';
import { endsJob, errorOf, retryAfterMs } from '../retries.ts';
import { added, type ExportDocument } from './export-document.ts';
import type { LineWriter } from './export-lines.ts';
import { type ExportPosition, mostRowsOf, START, variablesOf } from './export-position.ts';
import { StepReader, type StepRows } from './export-rows.ts';

/** Upstream requests of a step, if one row does not need more: a step can be lost, and is not interrupted. */
const MOST_CALLS = 5;

interface ExportRunOptions {
  readonly record: JobRecord;
  readonly document: ExportDocument;
  readonly operations: JobOperations;
  readonly writer: LineWriter;
  /** The rows that are in the output. */
  readonly known: { has(identity: string): boolean; add(identity: string): void };
  /** Cached responses that were requested from this time on are used, on `clock.now()`. */
  readonly acceptsFrom: number;
}

/** An export: it reads the list window by window, each as large as few upstream requests allow. */
export class ExportRun implements JobWork {
  readonly mostCalls: number;
  readonly #options: ExportRunOptions;
  #progress: JobProgress;
  /** Number of rows that the next step requests. */
  #rows: number;
  /** Number of tries of this step so far. */
  #tries = 0;

  constructor(options: ExportRunOptions) {
    const { maxPerMinute, progress } = options.record;
    this.mostCalls = Math.min(MOST_CALLS, maxPerMinute ?? MOST_CALLS);
    this.#options = options;
    this.#progress = progress;
    this.#rows = mostRowsOf(options.document);
  }

  /**
   * Executes the next step. Costs about 5 upstream requests at most, if one row does not need more.
   * @throws GatewayError with the code of an error that no retry can end, such as `FORBIDDEN`.
   */
  async step(viewer: Viewer, signal: AbortSignal): Promise<JobStep> {
    const { document, known, operations, writer } = this.#options;
    const before = this.#progress;
    const position = before.position ?? START;
    const terms = { viewer, signal, ...this.#terms };
    const { variables, upstream } = await this.#windowAt(position, terms);
    const result = await operations.execute(document, { ...terms, variables });
    signal.throwIfAborted();
    const spent = { ...before, upstream, calls: before.calls + result.calls };
    this.#progress = spent;
    const waitMs = retryAfterMs(result.errors, this.#tries);
    if (waitMs !== null) {
      this.#tries += 1;
      return { lines: '', seen: [], progress: spent, end: null, retryAfterMs: waitMs };
    }
    this.#tries = 0;
    if (!result.data?.[document.root] || endsJob(result.errors)) throw failureOf(result.errors);
    const reader = new StepReader(document, position, result.errors, (row) => known.has(row));
    const read = reader.read(result.data);
    const isFirst = before.lines === 0 && before.position === null;
    const lines = (isFirst ? writer.head : '') + read.rows.map((row) => writer.line(row)).join('');
    for (const identity of read.begun) known.add(identity);
    this.#progress = progressAfter(spent, result, read, document);
    return {
      lines,
      seen: read.begun,
      progress: this.#progress,
      end: read.next === null ? { error: null } : null,
      retryAfterMs: 0,
    };
  }

  get #terms() {
    const { acceptsFrom, record } = this.#options;
    return { acceptsFrom, jobId: record.id };
  }

  /** The variables of a step that costs few upstream requests, by dry runs of it. */
  async #windowAt(
    position: ExportPosition,
    terms: {
      readonly viewer: Viewer;
      readonly signal: AbortSignal;
      acceptsFrom: number;
      jobId: string;
    },
  ): Promise<{ readonly variables: Record<string, unknown>; readonly upstream: UpstreamName }> {
    const { document, operations, record } = this.#options;
    const most = mostRowsOf(document);
    const windowOf = (rows: number) => ({
      ...record.variables,
      ...variablesOf(document, position, rows),
    });
    for (;;) {
      const variables = windowOf(this.#rows);
      const { plan } = await operations.plan(document, { ...terms, variables });
      if (plan.calls <= this.mostCalls || this.#rows === 1) {
        // The next rows can cost less: they may be cached.
        if (2 * plan.calls <= this.mostCalls) this.#rows = Math.min(most, 2 * this.#rows);
        return { variables, upstream: upstreamOf(plan, this.#progress) };
      }
      const fitting = Math.floor((this.#rows * this.mostCalls) / plan.calls);
      this.#rows = Math.max(1, Math.min(this.#rows - 1, fitting));
    }
  }
}

/** The API that a step needs most. */
function upstreamOf(
  { callsByUpstream: { LINKS, MARKET } }: OperationPlan,
  { upstream }: JobProgress,
): UpstreamName {
  if (LINKS === MARKET) return upstream ?? 'LINKS';
  return LINKS > MARKET ? 'LINKS' : 'MARKET';
}

function progressAfter(
  before: JobProgress,
  { data, newest, oldest }: JobExecution,
  { completed, next, rows }: StepRows,
  { root }: ExportDocument,
): JobProgress {
  const connection = data?.[root] as Readonly<Record<string, unknown>>;
  const total = connection[added.total];
  const rowsDone = before.rowsDone + completed;
  const rowsTotal = next === null ? rowsDone : typeof total === 'number' ? total : before.rowsTotal;
  return {
    ...before,
    rowsDone,
    rowsTotal,
    callsLeft: callsLeftOf(before.calls, rowsDone, rowsTotal),
    lines: before.lines + rows.length,
    failures: before.failures + rows.filter(({ errors }) => errors.length > 0).length,
    oldest: smaller(before.oldest, oldest),
    newest: larger(before.newest, newest),
    position: next,
  };
}

/** Further requests, if the remaining rows cost as much as those so far. */
function callsLeftOf(calls: number, rowsDone: number, rowsTotal: number | null): number | null {
  if (rowsTotal === null || rowsDone === 0) return null;
  return Math.ceil((Math.max(0, rowsTotal - rowsDone) * calls) / rowsDone);
}

function smaller(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** The error of an export that cannot continue. */
function failureOf(errors: readonly GraphQLFormattedError[]): GatewayError {
  const ending = errors.filter((each) => endsJob([each]));
  const { code, message } = errorOf(ending.length > 0 ? ending : errors);
  return new GatewayError(code, message);
}
