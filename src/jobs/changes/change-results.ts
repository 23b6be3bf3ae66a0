import type { GraphQLFormattedError } from 'graphql';
import type { JobExecution } from '../job-operations.ts';
import type { LineError } from './change-line.ts';
import { addedToChanges, type ChangesDocument, INVALID_INPUT } from './changes-document.ts';

type Data = NonNullable<JobExecution['data']>;

/** The result of a mutation for one line. */
export interface ChangeResult {
  /** As its caller has selected it; `null` without data. */
  readonly data: Data | null;
  /** Why fields were not executed or are incomplete; empty if all were executed. */
  readonly errors: readonly LineError[];
}

/** Maximum number of errors of a line in the output. */
const MOST_ERRORS = 20;

/** Codes of refusals by type, where it is not the name of the type, as of `Conflict`. */
const CODES: Readonly<Record<string, string>> = {
  [INVALID_INPUT]: 'BAD_USER_INPUT',
  Rejected: 'UPSTREAM_REJECTED',
};

/** The result of an execution, without what `changesDocument` has added. A refusal is an error with a code, too. */
export function changeResultOf(
  document: Pick<ChangesDocument, 'refusals'>,
  { data, errors }: Pick<JobExecution, 'data' | 'errors'>,
): ChangeResult {
  const all = errors.map(lineErrorOf);
  if (!data) return { data, errors: all };
  const shown = Object.entries(data).map(([name, value]) => {
    if (!isObject(value)) return [name, value] as const;
    const refusal = refusalOf(document, name, value);
    if (refusal) all.push(refusal);
    return [name, withoutAdded(value)] as const;
  });
  return { data: Object.fromEntries(shown), errors: all };
}

/**
 * A line of the output: `{"line":17,"data":…}`, with `error` if something is wrong with it, and `errors` if that is more
 * than one thing.
 */
export function outputLineOf(line: number, { data, errors }: ChangeResult): string {
  const [error] = errors;
  const members = {
    line,
    ...(data && { data }),
    ...(error && { error }),
    ...(errors.length > 1 && { errors: errors.slice(0, MOST_ERRORS) }),
  };
  return `${JSON.stringify(members)}\n`;
}

/** An error of GraphQL as an error of a line. */
function lineErrorOf({ extensions = {}, message, path }: GraphQLFormattedError): LineError {
  const { code, ...details } = extensions;
  return {
    code: typeof code === 'string' ? code : 'INTERNAL_SERVER_ERROR',
    message,
    ...(path && { path }),
    ...details,
  };
}

function refusalOf(
  { refusals }: Pick<ChangesDocument, 'refusals'>,
  name: string,
  value: Data,
): LineError | null {
  const type = String(value[addedToChanges.type]);
  if (!refusals.has(type)) return null;
  const issues = value[addedToChanges.issues];
  return {
    code: CODES[type] ?? type.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase(),
    message: String(value[addedToChanges.message]),
    path: [name],
    ...(issues === undefined ? {} : { issues }),
  };
}

const ADDED: ReadonlySet<string> = new Set(Object.values(addedToChanges));

function withoutAdded(value: Data): Data {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !ADDED.has(name)));
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
