import type { AgentGraph, GraphAnswer } from '../agent-graph.ts';
import { isQuery } from '../agent-graph.ts';
import { resultOfMutation } from '../answers/results.ts';
import type { Approvals } from '../changes/approvals.ts';
import { ToolError } from '../tool-error.ts';
import type { ReadOptions } from './read.ts';
import {
  type AgentTool,
  OPERATION,
  objectSchema,
  operationIn,
  type ToolArguments,
  textIn,
} from './tool.ts';

const FIELDS =
  'id kind state name createdAt readyAt rowsDone rowsTotal failures callsSpent callsLeft bytes url error { code message }';
const START = `mutation StartExport($input: StartExportInput!) {
  startExport(input: $input) {
    ... on Job { ${FIELDS} }
    ... on InvalidInput { message issues { path code message } }
  }
}`;
const STATUS = `query Job($id: ID!) { job(id: $id) { ${FIELDS} } }`;
const LATEST = `query Jobs { jobs(first: 5) { nodes { ${FIELDS} } } }`;
const CANCEL = `mutation CancelJob($id: ID!) { cancelJob(id: $id) { ${FIELDS} } }`;

/** `graph_job`: exports of whole lists in the background. Costs no upstream request by itself. */
export function jobTool(options: ReadOptions & { readonly approvals: Approvals }): AgentTool {
  const { graph } = options;
  return {
    name: 'graph_job',
    title: 'Export a list',
    description:
      'Exports a whole list into a file, in the background, with requests that others leave. start: a query with one list at its root, such as "{ channels { nodes { name } } }". status: of a job by id, or of the latest. cancel: by id. The file is at url on this server.',
    input: objectSchema(
      {
        action: { enum: ['start', 'status', 'cancel'] },
        ...OPERATION,
        format: { enum: ['JSONL', 'CSV'] },
        id: { type: 'string' },
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
      const { key, ...sent } = await operationOf(call.viewer, args, options);
      let answer = await graph.executeOwn(call, sent, { key });
      // A call that is sent again finds the same jobs, in the same order.
      for (let lost = lostJobOf(answer); lost !== null; lost = lostJobOf(answer)) {
        answer = await graph.executeOwn(call, sent, { key: `${key}-${lost}` });
      }
      return resultOfMutation(answer, sent);
    },
  };
}

/** Final states in which there is no whole file. */
const LOST = ['CANCELED', 'FAILED', 'EXPIRED'];

/** The id of an earlier job that a start has returned and that will have no file; `null` for any other answer. */
function lostJobOf({ data }: GraphAnswer): string | null {
  const job = data?.['startExport'];
  if (typeof job !== 'object' || job === null || !('id' in job && 'state' in job)) return null;
  return LOST.includes(String(job.state)) ? String(job.id) : null;
}

async function operationOf(
  viewer: Parameters<Approvals['want']>[0],
  args: ToolArguments,
  { approvals, graph }: { readonly approvals: Approvals; readonly graph: AgentGraph },
): Promise<{ operation: string; variables: Record<string, unknown>; key: string | null }> {
  const id = textIn(args, 'id');
  switch (args['action']) {
    case 'start': {
      const exported = graph.parse(operationIn(args));
      if (!isQuery(exported)) {
        throw new ToolError(
          'WRONG_TOOL',
          'Jobs of agents export lists. Send a mutation to graph_price.',
        );
      }
      const { text: query, variables } = exported;
      const input = { query, variables, format: textIn(args, 'format') ?? 'JSONL' };
      const key = await approvals.keyOfStart(viewer, input);
      return { operation: START, variables: { input }, key };
    }
    case 'cancel':
      return { operation: CANCEL, variables: { id: id ?? '' }, key: null };
    default:
      return id === undefined
        ? { operation: LATEST, variables: {}, key: null }
        : { operation: STATUS, variables: { id }, key: null };
  }
}
