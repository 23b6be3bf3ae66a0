import { isQuery } from '../../graphql/operations.ts';
import type { AgentCall, AgentGraph } from '../agent-graph.ts';
import { priceText } from '../cost-line.ts';
import { resultOfQuery } from '../results.ts';
import { ToolError } from '../tool-error.ts';
import {
  type AgentTool,
  numberIn,
  OPERATION,
  objectSchema,
  operationIn,
  READS,
  type ToolArguments,
  type ToolOutcome,
} from './tool.ts';

/** Upstream requests and seconds of waiting that a read may need unless it says more. */
const MAX_CALLS = 5;
const WAIT_SECONDS = 5;

/**
 * `graph_read`: executes a query. Costs at most `maxCalls` upstream requests by its plan, and never more than that to
 * each API.
 */
export function readTool(graph: AgentGraph): AgentTool {
  return {
    name: 'graph_read',
    title: 'Read from the graph',
    description:
      'Executes a query, such as "{ account { username } channels(first: 3) { totalCount nodes { name } } }". One that needs more than maxCalls upstream calls is not sent. Cached answers cost nothing. A result has at most 32 kB.',
    input: objectSchema(
      {
        ...OPERATION,
        maxCalls: { type: 'integer', minimum: 0, default: MAX_CALLS },
        waitSeconds: { type: 'integer', minimum: 0, default: WAIT_SECONDS },
      },
      ['operation'],
    ),
    annotations: READS,
    run: (call, args) => read(call, args, graph),
  };
}

/**
 * Executes a query, unless its plan needs too many upstream requests.
 * @throws ToolError `WRONG_TOOL`, `TOO_MANY_CALLS` or `RESULT_TOO_LARGE`; and what `AgentGraph.parse` throws.
 */
export async function read(
  call: AgentCall,
  args: ToolArguments,
  graph: AgentGraph,
): Promise<ToolOutcome> {
  const operation = graph.parse(operationIn(args));
  if (!isQuery(operation)) {
    throw new ToolError(
      'WRONG_TOOL',
      'This is a mutation. Only graph_change executes it, where the operator has enabled changes.',
    );
  }
  const maxCalls = numberIn(args, 'maxCalls') ?? MAX_CALLS;
  const terms = { maxCalls, waitSeconds: numberIn(args, 'waitSeconds') ?? WAIT_SECONDS };
  const { plan } = await graph.execute(call, operation, { ...terms, isRehearsal: true });
  if (plan && plan.calls > maxCalls) {
    throw new ToolError(
      'TOO_MANY_CALLS',
      `The query needs ${priceText(plan)}, more than maxCalls, which is ${maxCalls}. Ask for fewer rows or fields, or raise maxCalls. For a whole list, graph_job exports it.`,
      { calls: plan.calls, startsInMs: plan.startsInMs },
    );
  }
  return resultOfQuery(await graph.execute(call, operation, terms));
}
