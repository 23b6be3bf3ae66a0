import type { AgentCall } from '../agent-call.ts';
import { type AgentGraph, isQuery } from '../agent-graph.ts';
import { priceText } from '../answers/cost-line.ts';
import { resultOfQuery } from '../answers/results.ts';
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
  textIn,
} from './tool.ts';

/** Upstream requests and seconds of waiting that a read may need unless it says more. */
const MAX_CALLS = 5;
const WAIT_SECONDS = 5;

/** What reads of agents need. */
export interface ReadOptions {
  readonly graph: AgentGraph;
}

/**
 * `graph_read`: executes a query. Costs at most `maxCalls` upstream requests by its plan, and never more than that to
 * each API.
 */
export function readTool(options: ReadOptions): AgentTool {
  return {
    name: 'graph_read',
    title: 'Read from the graph',
    description:
      'Executes a query, such as "{ account { username } channels(first: 3) { totalCount nodes { name } } }". One that needs more than maxCalls upstream calls is not sent. Cached answers cost nothing. A result above 32 kB is cut: send its cursor for the rest.',
    input: objectSchema(
      {
        ...OPERATION,
        maxCalls: { type: 'integer', minimum: 0, default: MAX_CALLS },
        waitSeconds: { type: 'integer', minimum: 0, default: WAIT_SECONDS },
        cursor: { type: 'string' },
      },
      ['operation'],
    ),
    annotations: READS,
    run: (call, args) => read(call, args, options),
  };
}

/**
 * Executes a query, unless its plan needs too many upstream requests.
 * @throws ToolError `WRONG_TOOL` or `TOO_MANY_CALLS`; and what `AgentGraph.parse` throws.
 */
export async function read(
  call: AgentCall,
  args: ToolArguments,
  { graph }: ReadOptions,
): Promise<ToolOutcome> {
  const sent = operationIn(args);
  const operation = graph.parse(sent);
  if (!isQuery(operation)) {
    throw new ToolError(
      'WRONG_TOOL',
      'This is a mutation. Send it to graph_price, then to graph_change.',
    );
  }
  const maxCalls = numberIn(args, 'maxCalls') ?? MAX_CALLS;
  const terms = { maxCalls, waitSeconds: numberIn(args, 'waitSeconds') ?? WAIT_SECONDS };
  const { plan } = await graph.plan(call, operation, { ...terms, isRehearsal: true });
  if (plan && plan.calls > maxCalls) {
    throw new ToolError(
      'TOO_MANY_CALLS',
      `The query needs ${priceText(plan)}, more than maxCalls, which is ${maxCalls}. Ask for fewer rows or fields, or raise maxCalls. For a whole list, graph_job exports it.`,
      { calls: plan.calls, startsInMs: plan.startsInMs },
    );
  }
  const answer = await graph.execute(call, operation, terms);
  return resultOfQuery(answer, sent, textIn(args, 'cursor') ?? null);
}
