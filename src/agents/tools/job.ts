import type { Viewer } from '../../auth/viewer.ts';
import { BadUserInput } from '../../errors.ts';
import { decodeGlobalId } from '../../graph/ids/global-id.ts';
import { isQuery } from '../../graphql/operations.ts';
import type { StoredJob } from '../../jobs/stored-jobs.ts';
import type { AgentGraph } from '../agent-graph.ts';
import { MAX_RESULT_BYTES, resultOfMutation } from '../results.ts';
import { ToolError } from '../tool-error.ts';
import { keyOf } from './change.ts';
import {
  type AgentTool,
  KEY,
  numberIn,
  OPERATION,
  objectSchema,
  operationIn,
  type ToolArguments,
  type ToolOutcome,
  textIn,
} from './tool.ts';

const FIELDS =
  'id state name createdAt readyAt rowsDone rowsTotal failures callsSpent callsLeft bytes url error { code message }';
const START = `mutation StartExport($input: StartExportInput!) {
  startExport(input: $input) {
    ... on Job { ${FIELDS} }
    ... on InvalidInput { message issues { path code message } }
  }
}`;
const STATUS = `query Job($id: ID!) { job(id: $id) { ${FIELDS} } }`;
const LATEST = `query Jobs { jobs(first: 5) { nodes { ${FIELDS} } } }`;
const CANCEL = `mutation CancelJob($id: ID!) { cancelJob(id: $id) { ${FIELDS} } }`;

const NEWLINE = 10;

/** Finds a job that a viewer may see; `null` if there is none. */
export type FindOutput = (
  viewer: Viewer,
  id: string,
) => Pick<StoredJob, 'outputBytes' | 'pieces'> | null;

/** `graph_job`: exports of whole lists in the background. Costs no upstream request by itself. */
export function jobTool(graph: AgentGraph, find: FindOutput): AgentTool {
  return {
    name: 'graph_job',
    title: 'Export a list',
    description:
      'Exports a whole list into a file, in the background, with requests that others leave. start: a query with one list at its root, such as "{ channels { nodes { name } } }"; equal starts are one, unless they have another key. status: of a job by id, or of the latest. read: lines of the file by id, from a byte on. cancel: by id. The file is also at url on this server.',
    input: objectSchema(
      {
        action: { enum: ['start', 'status', 'read', 'cancel'] },
        ...OPERATION,
        ...KEY,
        format: { enum: ['JSONL', 'CSV'] },
        id: { type: 'string' },
        from: { type: 'integer', minimum: 0, default: 0 },
      },
      ['action'],
    ),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    async run(call, args) {
      const id = textIn(args, 'id');
      const action = args['action'];
      if (action === 'read') {
        const job = find(call.viewer, decodeGlobalId(id ?? '').id);
        const size = job?.outputBytes ?? null;
        if (!job || size === null) {
          throw new BadUserInput('There is no file of a job with this ID.');
        }
        const from = numberIn(args, 'from') ?? 0;
        return linesOf(job.pieces(from, Math.min(size, from + MAX_RESULT_BYTES)), { from, size });
      }
      const { key = null, ...sent } =
        action === 'start'
          ? startOf(args, graph)
          : action === 'cancel'
            ? { operation: CANCEL, variables: { id: id ?? '' } }
            : { operation: id === undefined ? LATEST : STATUS, variables: { id } };
      return resultOfMutation(await graph.execute(call, graph.parseOwn(sent), { key }));
    },
  };
}

function startOf(args: ToolArguments, graph: AgentGraph) {
  const exported = graph.parse(operationIn(args));
  if (!isQuery(exported)) {
    throw new ToolError('WRONG_TOOL', 'This is a mutation. Jobs of agents export lists.');
  }
  const { text: query, variables } = exported;
  const input = { query, variables, format: textIn(args, 'format') ?? 'JSONL' };
  return { operation: START, variables: { input }, key: textIn(args, 'key') ?? keyOf(input) };
}

/**
 * The complete lines in pieces of a file from a byte on.
 * @throws ToolError `RESULT_TOO_LARGE` for a line that is longer.
 */
async function linesOf(
  pieces: AsyncIterable<Buffer>,
  { from, size }: { readonly from: number; readonly size: number },
): Promise<ToolOutcome> {
  const read: Buffer[] = [];
  for await (const piece of pieces) read.push(piece);
  const bytes = Buffer.concat(read);
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  if (end === 0 && bytes.length > 0) {
    throw new ToolError('RESULT_TOO_LARGE', 'The next line is too long. Download the file.');
  }
  const next = from + end;
  const rest =
    next < size
      ? `Call graph_job again with action read and from ${next} for the next lines, up to byte ${size}.`
      : `These are all lines up to byte ${size}.`;
  return { text: `${bytes.toString('utf8', 0, end)}${rest}` };
}
