import type { GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';
import type { JobProgress } from '../job.ts';
import type { JobOperation } from '../job-operations.ts';
import type { JobStep, JobWork } from '../job-step.ts';
import { isPassing, retryAfterMs } from '../retries.ts';
import { parseChangeLine } from './change-line.ts';
import { changeResultOf, outputLineOf } from './change-results.ts';
import { ChangesCheck, type ChangesWorld, refuseAll } from './changes-check.ts';
import { type ChangesDocument, changesDocument } from './changes-document.ts';

interface ChangesRunOptions extends ChangesWorld {
  readonly schema: GraphQLSchema;
  /** The mutation of the record. */
  readonly parsed: JobOperation;
}

/**
 * Changes: all lines of the input are checked first. Then the mutation is executed once for each of them, with an
 * idempotency key of its own, so that a line that was executed shortly before the process ended is not executed again.
 */
export class ChangesRun implements JobWork {
  readonly #world: ChangesWorld;
  readonly #document: ChangesDocument;
  readonly #check: ChangesCheck;
  #progress: JobProgress;
  /** Number of executions in a row that the API did not confirm. */
  #tries = 0;

  /** @throws BadUserInput `BAD_USER_INPUT` for a mutation that a job cannot execute. */
  constructor({ parsed, schema, ...world }: ChangesRunOptions) {
    this.#world = world;
    this.#document = changesDocument(schema, parsed.document, parsed.operation);
    this.#check = new ChangesCheck(world, this.#document);
    this.#progress = world.record.progress;
  }

  /** Number of requests of an average line; 0 while lines are only checked. */
  get mostCalls(): number {
    const { callsLeft, input, rowsDone, rowsTotal } = this.#progress;
    if (!input.isChecked) return 0;
    return Math.ceil((callsLeft ?? 0) / Math.max(1, (rowsTotal ?? 0) - rowsDone));
  }

  /**
   * Checks the next lines without an upstream request, or executes the next one, usually with one request.
   * @throws GatewayError with the code of an error that applies to all further lines, such as `FORBIDDEN`; the reason
   * of `signal` when that aborts.
   */
  async step(viewer: Viewer, signal: AbortSignal): Promise<JobStep> {
    const before = this.#progress;
    const step = await (before.input.isChecked
      ? this.#execute(before, viewer, signal)
      : this.#check.step(before, viewer, signal));
    signal.throwIfAborted();
    this.#progress = step.progress;
    return step;
  }

  async #execute(before: JobProgress, viewer: Viewer, signal: AbortSignal): Promise<JobStep> {
    const { acceptsFrom, files, operations, record, task } = this.#world;
    const line = await firstOf(files.inputLines(before.input));
    if (!line) return { ...stepOf('', { ...before, callsLeft: 0 }), end: { error: null } };
    const parsed = parseChangeLine(line, this.#document.variables);
    // All lines were checked.
    if (parsed.error) throw new TypeError('a checked line is invalid');
    const result = await operations.execute(this.#document, {
      viewer,
      signal,
      acceptsFrom,
      jobId: record.id,
      variables: parsed.variables,
      key: `${record.id}:${line.line}`,
    });
    signal.throwIfAborted();
    refuseAll(result.errors);
    const spent = { ...before, calls: before.calls + result.calls };
    const waitMs = retryAfterMs(result.errors, this.#tries);
    this.#tries = waitMs === null ? 0 : this.#tries + 1;
    const canPass = result.errors.some((each) => isPassing(each) && !isUndecided(each));
    if (waitMs !== null && canPass) return { ...stepOf('', spent), retryAfterMs: waitMs };
    const change = changeResultOf(this.#document, result);
    const [failure] = change.errors;
    const progress = {
      ...spent,
      rowsDone: before.rowsDone + 1,
      lines: before.lines + 1,
      failures: before.failures + (failure ? 1 : 0),
      callsLeft: callsLeftAfter(before),
      input: { isChecked: true, line: line.line, offset: line.end },
    };
    const step = stepOf(outputLineOf(line.line, change), progress);
    // An API that did not confirm this line would not confirm the next one either.
    if (!failure || task.onError === 'CONTINUE') return { ...step, retryAfterMs: waitMs ?? 0 };
    const { rowsDone, rowsTotal } = progress;
    const message = `Line ${line.line} failed: ${failure.message} (${rowsDone} of ${rowsTotal} lines were executed.)`;
    return { ...step, end: { error: { code: failure.code, message } } };
  }
}

/** A step after which the job goes on. */
function stepOf(lines: string, progress: JobProgress): JobStep {
  return { lines, seen: [], progress, end: null, retryAfterMs: 0 };
}

/** Whether no retry can find out the outcome of a write. */
function isUndecided({ extensions = {} }: GraphQLFormattedError): boolean {
  const { check, code, settlesAt } = extensions;
  return code === 'OUTCOME_UNKNOWN' && check !== undefined && settlesAt === undefined;
}

/** Requests after one more line, if all remaining ones cost the same. */
function callsLeftAfter({ callsLeft, rowsDone, rowsTotal }: JobProgress): number | null {
  if (callsLeft === null || rowsTotal === null) return null;
  const lines = rowsTotal - rowsDone;
  return lines <= 1 ? 0 : Math.ceil((callsLeft * (lines - 1)) / lines);
}

async function firstOf<T>(all: AsyncIterable<T>): Promise<T | null> {
  for await (const each of all) return each;
  return null;
}
