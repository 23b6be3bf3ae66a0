import { hash } from 'node:crypto';
import { type DocumentNode, type GraphQLSchema, visit } from 'graphql';
import { isQuery } from '../../graphql/operations.ts';
import type { AgentCall, AgentGraph } from '../agent-graph.ts';
import { resultOfMutation } from '../results.ts';
import { ToolError } from '../tool-error.ts';
import {
  type AgentTool,
  CHANGES,
  KEY,
  OPERATION,
  objectSchema,
  operationIn,
  type ToolArguments,
  type ToolOutcome,
  textIn,
} from './tool.ts';

/** `graph_change`: executes a mutation, once for each key. Costs one upstream request for each of its fields. */
export function changeTool(graph: AgentGraph): AgentTool {
  return {
    name: 'graph_change',
    title: 'Change something',
    description:
      'Executes a mutation. Also select "... on Error { message }" in it. If the answer is lost, call it again with the same arguments: the change is made once. key names the change, and is a new text for each new one; without it, equal changes are one.',
    input: objectSchema({ ...OPERATION, ...KEY }, ['operation']),
    annotations: CHANGES,
    run: (call, args) => change(call, args, graph),
  };
}

/**
 * Executes a mutation.
 * @throws ToolError `WRONG_TOOL`; and what `AgentGraph.parse` throws.
 */
export async function change(
  call: AgentCall,
  args: ToolArguments,
  graph: AgentGraph,
): Promise<ToolOutcome> {
  const operation = graph.parse(operationIn(args));
  if (isQuery(operation)) {
    throw new ToolError('WRONG_TOOL', 'This is a query. Send it to graph_read.');
  }
  const { document, text, variables } = operation;
  const key = returnsSecret(graph.schema, document)
    ? null
    : (textIn(args, 'key') ?? keyOf([text, variables]));
  return resultOfMutation(await graph.execute(call, operation, { key }));
}

/**
 * The idempotency key of a mutation without one: agents lose results, and send the call again. Equal contents of one
 * caller have the same key.
 */
export function keyOf(content: unknown): string {
  return `agent-${hash('sha256', JSON.stringify(content), 'base64url')}`;
}

/** Whether a mutation returns a secret. It has no key, because no secret is stored. */
function returnsSecret(schema: GraphQLSchema, document: DocumentNode): boolean {
  const fields = schema.getMutationType()?.getFields() ?? {};
  let isSecret = false;
  visit(document, {
    Field({ name }) {
      isSecret ||= fields[name.value]?.extensions['returnsSecret'] === true;
    },
  });
  return isSecret;
}
