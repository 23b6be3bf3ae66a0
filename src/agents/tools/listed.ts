import {
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  type TypeNode,
  typeFromAST,
} from 'graphql';
import { isQuery } from '../../graphql/operations.ts';
import type { AgentGraph, AgentOperation } from '../agent-graph.ts';
import { change } from './change.ts';
import { read } from './read.ts';
import {
  type AgentTool,
  CHANGES,
  type JsonSchema,
  KEY,
  objectSchema,
  READS,
  type ToolArguments,
} from './tool.ts';

/** More tools would fill the context of an agent before its first question. */
const MOST_TOOLS = 20;
/** Input objects within others that a schema describes. */
const MAX_DEPTH = 3;
const TOOL_NAME = /^[a-zA-Z][\w-]{0,62}$/;
const SCALARS: Readonly<Record<string, JsonSchema>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
};

/**
 * A tool for each listed operation whose text begins with a comment, which describes it; without those that change
 * something unless `mayChange`. `complain` receives a sentence about each that cannot be one.
 */
export function listedTools(
  graph: AgentGraph,
  {
    complain,
    mayChange,
  }: {
    readonly complain: (sentence: string) => void;
    readonly mayChange: boolean;
  },
): AgentTool[] {
  const tools = new Map<string, AgentTool>();
  for (const [id, text] of graph.listed ?? []) {
    const description = commentOf(text);
    if (description === null) continue;
    const tool = toolOf(id, description, graph);
    if (typeof tool === 'object' && !mayChange && !tool.annotations.readOnlyHint) continue;
    if (typeof tool === 'string') complain(`The listed operation ${id} is no tool: ${tool}.`);
    else if (tools.has(tool.name))
      complain(`Two listed operations have the name ${tool.name}: the first is a tool.`);
    else tools.set(tool.name, tool);
  }
  if (tools.size > MOST_TOOLS) {
    complain(
      `${tools.size} listed operations begin with a comment: the first ${MOST_TOOLS} are tools.`,
    );
  }
  return [...tools.values()].slice(0, MOST_TOOLS);
}

/** The comment at the beginning of a text; `null` if there is none. */
function commentOf(text: string): string | null {
  const lines = /^\s*((?:#[^\n]*\n\s*)+)/.exec(text)?.[1]?.split('\n') ?? [];
  const comment = lines.map((line) => line.trim().replace(/^#+\s*/, '')).join(' ');
  return comment.trim() || null;
}

/** A tool for an operation, or why it cannot be one. */
function toolOf(id: string, description: string, graph: AgentGraph): AgentTool | string {
  let operation: AgentOperation;
  try {
    operation = parsed(graph, id);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const name = operation.operation.name?.value ?? '';
  if (!TOOL_NAME.test(name) || name.startsWith('graph_')) return 'its operation has no usable name';
  const isChange = !isQuery(operation);
  const variables = operation.operation.variableDefinitions ?? [];
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const { defaultValue, type, variable } of variables) {
    const member = variable.name.value;
    if (isChange && member in KEY) return `a variable has the name ${member}`;
    properties[member] = schemaOfNode(graph.schema, type);
    if (type.kind === Kind.NON_NULL_TYPE && !defaultValue) required.push(member);
  }
  const sent = (values: ToolArguments) => ({ operation: id, variables: values });
  return {
    name,
    title: name.replace(/(?<=[a-z\d])(?=[A-Z])/g, ' '),
    description: isChange ? `${description} Changes data.` : description,
    input: objectSchema({ ...properties, ...(isChange ? KEY : {}) }, required),
    annotations: isChange ? CHANGES : READS,
    run(call, args) {
      if (!isChange) return read(call, sent(args), graph);
      const { key, ...values } = args;
      return change(call, { ...sent(values), key }, graph);
    },
  };
}

/** Without its variables, which are not known yet. */
function parsed(graph: AgentGraph, id: string): AgentOperation {
  return graph.parse({ operation: id, variables: {} });
}

function schemaOfNode(schema: GraphQLSchema, node: TypeNode): JsonSchema {
  const type = typeFromAST(schema, node as never) as GraphQLInputType | undefined;
  return type ? schemaOf(type, MAX_DEPTH) : {};
}

function schemaOf(type: GraphQLInputType, depth: number): JsonSchema {
  if (isNonNullType(type)) return schemaOf(type.ofType, depth);
  if (isListType(type)) return { type: 'array', items: schemaOf(type.ofType, depth) };
  if (isEnumType(type)) return { enum: type.getValues().map(({ name }) => name) };
  if (isScalarType(type)) return SCALARS[type.name] ?? { description: type.name };
  if (!isInputObjectType(type) || depth === 0) return { type: 'object' };
  const fields = Object.values(type.getFields());
  const properties = fields.map((field) => [field.name, schemaOf(field.type, depth - 1)] as const);
  const required = fields.filter(
    (field) => isNonNullType(field.type) && field.defaultValue === undefined,
  );
  return objectSchema(
    Object.fromEntries(properties),
    required.map(({ name }) => name),
  );
}
