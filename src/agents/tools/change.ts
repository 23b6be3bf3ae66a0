import type { AgentCall } from '../agent-call.ts';
import { isQuery } from '../agent-graph.ts';
import { resultOfMutation } from '../answers/results.ts';
import type { Approvals, WantedChange } from '../changes/approvals.ts';
import { ToolError } from '../tool-error.ts';
import type { ReadOptions } from './read.ts';
import {
  type AgentTool,
  CHANGES,
  type Decision,
  OPERATION,
  objectSchema,
  operationIn,
  type ToolArguments,
  type ToolOutcome,
  textIn,
} from './tool.ts';

const MAX_KEY_LENGTH = 255;

/** What changes of agents need. */
export interface ChangeOptions extends ReadOptions {
  readonly approvals: Approvals;
}

/** The members of a change beside its operation. */
export const CHANGE_TERMS = {
  key: { type: 'string', maxLength: MAX_KEY_LENGTH },
  confirmation: { type: 'string' },
} as const;

/** `graph_change`: executes a mutation, once for each key. */
export function changeTool(options: ChangeOptions): AgentTool {
  return {
    name: 'graph_change',
    title: 'Change something',
    description:
      'Executes a mutation that the person has approved, with the confirmation of graph_price. Also select "... on Error { message }" in it. If the answer is lost, call it again with the same arguments: the change is made once. key names the change, and is a new text for each new one; without it, equal changes within ten minutes are one.',
    input: objectSchema({ ...OPERATION, ...CHANGE_TERMS }, ['operation']),
    annotations: CHANGES,
    run: (call, args, decision) => change(call, args, { decision, options }),
  };
}

/**
 * Executes a mutation once a person has confirmed it, if that is needed.
 * @throws ToolError `WRONG_TOOL`, `CHANGES_DISABLED`, `CONFIRMATION_REQUIRED`, `CONFIRMATION_INVALID` or `DECLINED`; and
 * what `AgentGraph.parse` throws.
 */
export async function change(
  call: AgentCall,
  args: ToolArguments,
  { decision, options }: { readonly decision: Decision; readonly options: ChangeOptions },
): Promise<ToolOutcome> {
  const { approvals, graph } = options;
  const sent = operationIn(args);
  const operation = graph.parse(sent);
  if (isQuery(operation)) {
    throw new ToolError('WRONG_TOOL', 'This is a query. Send it to graph_read.');
  }
  const wanted = await approvals.want(call.viewer, operation);
  const given = decision.canAsk ? answered(decision) : textIn(args, 'confirmation');
  if (wanted.needsConfirmation && given === undefined) {
    if (!decision.canAsk) throw unconfirmed();
    // What is refused is not asked.
    const plan = await graph.plan(call, operation, { isRehearsal: true });
    if (plan.errors.length > 0) {
      return resultOfMutation(plan, sent);
    }
    return question(call, wanted, approvals);
  }
  const confirmation = wanted.needsConfirmation ? given : undefined;
  const key = await approvals.keyOf(wanted, { key: textIn(args, 'key'), confirmation });
  const answer = await graph.execute(call, operation, { key });
  return resultOfMutation(answer, sent);
}

/** The confirmation in the answer to a question. @throws ToolError `DECLINED` */
function answered({ isAccepted, state }: Decision): string | undefined {
  if (isAccepted === false) {
    throw new ToolError('DECLINED', 'The person has declined this change. Do not try it again.');
  }
  return isAccepted ? state : undefined;
}

async function question(
  { viewer }: AgentCall,
  wanted: WantedChange,
  approvals: Approvals,
): Promise<ToolOutcome> {
  const effects = await approvals.effects(viewer, wanted);
  const message = `An agent wants to make this change:\n${effects.join('\n')}`;
  return { kind: 'question', message, state: approvals.confirmationOf(wanted) };
}

function unconfirmed(): ToolError {
  return new ToolError(
    'CONFIRMATION_REQUIRED',
    'A person must approve this change. Call graph_price with the same operation and variables, show its effects to the person and, if they agree, call graph_change with its confirmation.',
  );
}
