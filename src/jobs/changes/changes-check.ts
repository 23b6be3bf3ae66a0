import type { GraphQLFormattedError } from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';
import { GatewayError, type UpstreamName } from '../../errors.ts';
import { nextTurn } from '../../scheduling/loop-turns.ts';
import type { OperationPlan } from '../../upstream/dry-run/dry-run.ts';
import type { ChangesTask, JobProgress, JobRecord } from '../job.ts';
import type { JobExecutionTerms, JobOperations } from '../job-operations.ts';
import type { JobStep } from '../job-step.ts';
import { endsJob, errorOf, isPassing } from '../retries.ts';
import type { JobFiles } from '../storage/job-files.ts';
import type { LinePlace, StoredLine } from '../storage/stored-lines.ts';
import { parseChangeLine } from './change-line.ts';
import { type ChangeResult, changeResultOf, outputLineOf } from './change-results.ts';
import type { ChangesDocument } from './changes-document.ts';

/** Lines that are checked in one step. */
const MOST_CHECKED = 200;

/** What the lines of a job are checked and executed with. */
export interface ChangesWorld {
  readonly record: JobRecord;
  readonly task: ChangesTask;
  readonly files: Pick<JobFiles<JobRecord>, 'inputLines'>;
  readonly operations: JobOperations;
  /** See `JobExecutionTerms`. */
  readonly acceptsFrom: number;
}

/** The lines that were checked. */
interface CheckedLines extends LinePlace {
  readonly rows: number;
  /** Number of requests that they will need. */
  readonly calls: Readonly<Record<UpstreamName, number>>;
}

type Terms = Omit<JobExecutionTerms, 'key' | 'variables'>;

/** The check of all lines before the first one is executed. Its counts are not saved: it counts again in each run. */
export class ChangesCheck {
  readonly #world: ChangesWorld;
  readonly #document: ChangesDocument;
  #checked: CheckedLines = { line: 0, offset: 0, rows: 0, calls: { LINKS: 0, MARKET: 0 } };

  constructor(world: ChangesWorld, document: ChangesDocument) {
    this.#world = world;
    this.#document = document;
  }

  /**
   * Checks some further lines. Those up to `before` have their errors in the output. No upstream request.
   * @throws GatewayError with the code of an error that applies to all further lines, such as `FORBIDDEN`; the reason
   * of `signal` when that aborts.
   */
  async step(before: JobProgress, viewer: Viewer, signal: AbortSignal): Promise<JobStep> {
    const { acceptsFrom, files, record } = this.#world;
    const terms = { viewer, signal, acceptsFrom, jobId: record.id };
    const output: string[] = [];
    let steps = 0;
    for await (const line of files.inputLines(this.#checked)) {
      // Requests of callers come between two lines.
      await nextTurn();
      signal.throwIfAborted();
      const { errors, plan } = await this.#errorsOf(line, terms);
      this.#checked = withLine(this.#checked, line, plan);
      if (errors.length > 0 && line.line > before.input.line) {
        output.push(outputLineOf(line.line, { data: null, errors }));
      }
      steps += 1;
      if (steps === MOST_CHECKED) break;
    }
    const { line, offset } = this.#checked;
    const isNew = line > before.input.line;
    const progress = {
      ...before,
      lines: before.lines + output.length,
      failures: before.failures + output.length,
      input: isNew ? { isChecked: false, line, offset } : before.input,
    };
    const step = { lines: output.join(''), seen: [], progress, end: null, retryAfterMs: 0 };
    return steps < MOST_CHECKED ? this.#complete(step) : step;
  }

  /** What is wrong with a line, and its cost. */
  async #errorsOf(
    line: StoredLine,
    terms: Terms,
  ): Promise<{ readonly errors: ChangeResult['errors']; readonly plan?: OperationPlan }> {
    const { operations, record } = this.#world;
    const parsed = parseChangeLine(line, this.#document.variables);
    if (parsed.error) return { errors: [parsed.error] };
    const { variables } = parsed;
    try {
      operations.parse(record.text, variables);
    } catch (tooLarge) {
      if (!(tooLarge instanceof GatewayError)) throw tooLarge;
      return { errors: [{ code: tooLarge.code, message: tooLarge.message }] };
    }
    const { data, errors, plan } = await operations.plan(this.#document, { ...terms, variables });
    refuseAll(errors);
    // An upstream that is not available now says nothing about the line.
    const own = errors.filter((each) => !isPassing(each));
    return { plan, errors: changeResultOf(this.#document, { data, errors: own }).errors };
  }

  /** The step after the last line: the next step executes the first one, if that is wanted. */
  #complete(step: JobStep): JobStep {
    const { calls, rows } = this.#checked;
    const progress = {
      ...step.progress,
      rowsTotal: rows,
      callsLeft: calls.LINKS + calls.MARKET,
      upstream: upstreamOf(calls),
    };
    const end = this.#endOf(progress.failures, rows);
    if (end) return { ...step, progress, end };
    return { ...step, progress: { ...progress, input: { isChecked: true, line: 0, offset: 0 } } };
  }

  /** How the job ends after the check; `null` if it goes on. */
  #endOf(failures: number, rows: number): JobStep['end'] {
    if (rows === 0) {
      return { error: { code: 'BAD_USER_INPUT', message: 'The file has no line with variables.' } };
    }
    if (failures > 0) {
      const message = `${failures} of ${rows} lines are invalid; the output says why. No change was sent.`;
      return { error: { code: 'BAD_USER_INPUT', message } };
    }
    return this.#world.task.checkOnly ? { error: null } : null;
  }
}

/** @throws GatewayError for an error that each further line of changes would have. */
export function refuseAll(errors: readonly GraphQLFormattedError[]): void {
  if (!endsJob(errors)) return;
  const { code, message } = errorOf(errors.filter((each) => endsJob([each])));
  throw new GatewayError(code, message);
}

function withLine(
  { calls, rows }: CheckedLines,
  { end, line }: StoredLine,
  plan: OperationPlan | undefined,
): CheckedLines {
  const { LINKS = 0, MARKET = 0 } = plan?.callsByUpstream ?? {};
  return {
    line,
    offset: end,
    rows: rows + 1,
    calls: { LINKS: calls.LINKS + LINKS, MARKET: calls.MARKET + MARKET },
  };
}

/** The API that the lines need most; `null` if they need none. */
function upstreamOf({ LINKS, MARKET }: CheckedLines['calls']): UpstreamName | null {
  if (LINKS + MARKET === 0) return null;
  return LINKS >= MARKET ? 'LINKS' : 'MARKET';
}
