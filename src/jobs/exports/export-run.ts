import type { GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';
import { GatewayError, type UpstreamName } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { OperationPlan } from '../../upstream/dry-run/dry-run.ts';
import type { JobProgress, JobRecord } from '../job.ts';
import type { JobOperations, JobResult } from '../job-operations.ts';
import { endsJob, errorOf, retryAfterMs } from '../retries.ts';
import type { AddedOutput, StoredJob } from '../stored-jobs.ts';
import { type ExportDocument, exportDocument, windowVariables } from './export-document.ts';
import { type LineWriter, lineWriter } from './export-lines.ts';
import { rowsOfStep, type StepRows } from './export-rows.ts';
import { Identities } from './identities.ts';

/** Upstream requests of a step, if one row does not need more: a step can be lost, and is not interrupted. */
export const MOST_CALLS = 5;

/** The variables of a step: rows of the list after a cursor. */
export function variablesOf(first: number, after: string | null): Record<string, unknown> {
  return { [windowVariables.first]: first, [windowVariables.after]: after };
}

/** The result of a step of an export. */
export interface ExportStep extends AddedOutput {
  readonly progress: JobProgress;
  /** Whether the export is complete. */
  readonly isLast: boolean;
  /** Milliseconds until the next step, because an upstream was not available; 0 for none. */
  readonly retryAfterMs: number;
}

interface SavedExport {
  readonly clock: Clock;
  readonly job: StoredJob;
  readonly operations: JobOperations;
  readonly schema: GraphQLSchema;
}

interface ExportRunOptions {
  readonly clock: Clock;
  readonly record: JobRecord;
  readonly document: ExportDocument;
  readonly operations: JobOperations;
  readonly writer: LineWriter;
  /** The rows that are in the output. */
  readonly known: Identities;
  /** Cached responses that were requested from this time on are used, on `clock.now()`. */
  readonly acceptsFrom: number;
}

/** An export: it reads the list window by window, each as large as few upstream requests allow. */
export class ExportRun {
  /** Maximum number of upstream requests of a step, as far as it can be limited. */
  readonly mostCalls: number;
  readonly #options: ExportRunOptions;
  #progress: JobProgress;
  /** Number of rows that the next step requests. */
  #rows: number;
  /** Number of tries of this step so far. */
  #tries = 0;

  /**
   * The steps of a job from its saved progress on. No upstream request.
   * @throws GatewayError `BAD_USER_INPUT` if its query is not valid any more, such as after an upgrade; StoreError
   */
  static async open({ clock, job, operations, schema }: SavedExport): Promise<ExportRun> {
    const { record } = job;
    const { format, startedAt, text, variables } = record;
    const document = exportDocument(schema, operations.parse(text, variables));
    const known = new Identities();
    for await (const identity of job.seen()) known.add(identity);
    // Responses since its start serve it: what it has read before a restart is not read again.
    const acceptsFrom = clock.now() - (clock.wall() - (startedAt ?? clock.wall()));
    const writer = lineWriter(format, document, schema);
    return new ExportRun({ clock, record, document, operations, writer, known, acceptsFrom });
  }

  private constructor(options: ExportRunOptions) {
    this.mostCalls = Math.min(MOST_CALLS, options.record.maxPerMinute ?? MOST_CALLS);
    this.#options = options;
    this.#progress = options.record.progress;
    this.#rows = options.document.mostRows;
  }

  /**
   * Executes the next step with the current permissions of its owner. Costs about 5 upstream requests at most, if one row
   * does not need more.
   * @throws GatewayError with the code of an error that no retry can end, such as `FORBIDDEN`; the reason of `signal`
   * when that aborts.
   */
  async step(viewer: Viewer, signal: AbortSignal): Promise<ExportStep> {
    const { clock, document, known, operations, writer } = this.#options;
    const before = this.#progress;
    const { upstream, variables } = await this.#window(viewer, signal);
    const result = await operations.execute(document, this.#terms(viewer, signal, variables));
    signal.throwIfAborted();
    const spent = { ...before, upstream, calls: before.calls + result.receipt.summary.calls };
    this.#progress = spent;
    const waitMs = retryAfterMs(result.errors, this.#tries);
    if (waitMs !== null) {
      this.#tries += 1;
      return { lines: '', seen: [], progress: spent, isLast: false, retryAfterMs: waitMs };
    }
    this.#tries = 0;
    if (!result.data?.[document.root] || endsJob(result.errors)) throw failureOf(result.errors);
    const read = rowsOfStep(document, result, (row) => known.has(row));
    const head = before.after === null ? writer.head : '';
    for (const identity of read.identities) known.add(identity);
    this.#progress = progressAfter(spent, spanOf(result, clock), read);
    return {
      lines: head + read.rows.map((row) => writer.line(row)).join(''),
      seen: read.identities,
      progress: this.#progress,
      isLast: read.isLast,
      retryAfterMs: 0,
    };
  }

  #terms(viewer: Viewer, signal: AbortSignal, variables: Record<string, unknown>) {
    const { acceptsFrom, record } = this.#options;
    return { viewer, signal, variables, bulk: { acceptsFrom }, requestId: record.id };
  }

  /** The variables of a step that costs few upstream requests, by dry runs of it, unless all steps do. */
  async #window(viewer: Viewer, signal: AbortSignal) {
    const { document, operations, record } = this.#options;
    for (;;) {
      const variables = { ...record.variables, ...variablesOf(this.#rows, this.#progress.after) };
      if (record.isCheap) return { variables, upstream: this.#progress.upstream };
      const terms = this.#terms(viewer, signal, variables);
      const { errors, plan } = await operations.execute(document, { ...terms, isDryRun: true });
      signal.throwIfAborted();
      if (!plan) throw failureOf(errors);
      if (plan.calls <= this.mostCalls || this.#rows === 1) {
        // The next rows can cost less: they may be cached.
        if (2 * plan.calls <= this.mostCalls) {
          this.#rows = Math.min(document.mostRows, 2 * this.#rows);
        }
        return { variables, upstream: upstreamOf(plan, this.#progress.upstream) };
      }
      const fitting = Math.floor((this.#rows * this.mostCalls) / plan.calls);
      this.#rows = Math.max(1, Math.min(this.#rows - 1, fitting));
    }
  }
}

/** The API that a step needs most; the one before if it needs none. */
export function upstreamOf(
  { callsByUpstream: { LINKS, MARKET } }: OperationPlan,
  before: UpstreamName,
): UpstreamName {
  if (LINKS === MARKET) return before;
  return LINKS > MARKET ? 'LINKS' : 'MARKET';
}

function progressAfter(
  before: JobProgress,
  { newest, oldest }: Pick<JobProgress, 'newest' | 'oldest'>,
  { isLast, last, rows, total }: StepRows,
): JobProgress {
  const rowsDone = before.rowsDone + rows.length;
  const rowsTotal = isLast ? rowsDone : (total ?? before.rowsTotal);
  return {
    ...before,
    rowsDone,
    rowsTotal,
    callsLeft: callsLeftOf(before.calls, rowsDone, rowsTotal),
    failures: before.failures + rows.filter(({ errors }) => errors.length > 0).length,
    oldest: smaller(before.oldest, oldest),
    newest: larger(before.newest, newest),
    after: last ?? before.after,
  };
}

/** When the oldest and the newest data of a result were requested, in milliseconds since 1970; `null` without data. */
function spanOf({ receipt }: JobResult, clock: Clock): Pick<JobProgress, 'newest' | 'oldest'> {
  const [now, wall] = [clock.now(), clock.wall()];
  const times = receipt.ingredients.served.map(({ stamp }) => wall - (now - stamp.storedAt));
  if (times.length === 0) return { oldest: null, newest: null };
  return { oldest: Math.min(...times), newest: Math.max(...times) };
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
