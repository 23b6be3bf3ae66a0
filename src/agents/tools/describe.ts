import type { GraphQLSchema } from 'graphql';
import type { AgentCall } from '../agent-graph.ts';
import { indexOfGraph, proseOf } from '../describe/graph-prose.ts';
import { search } from '../describe/search.ts';
import { type AgentTool, objectSchema, READS, textIn } from './tool.ts';

const MAX_NAMES = 20;
const MAX_WORDS = 200;
const MOST_FOUND = 15;

/**
 * `graph_describe`: the root fields, the prose and types of some names, or a search. Costs no upstream request, and 1 at
 * most to find out whether a caller's own key is accepted.
 */
export function describeTool(options: {
  readonly schema: GraphQLSchema;
  /** Resolves for a caller who may ask for the schema. */
  readonly mayAsk: (call: AgentCall) => Promise<void>;
}): AgentTool {
  const { mayAsk, schema } = options;
  return {
    name: 'graph_describe',
    title: 'Describe the graph',
    description:
      'What the graph has. Without arguments: all root fields. names: prose, costs and types of root fields or types, such as ["channels", "createQrCode"]. find: words to search in names and prose.',
    input: objectSchema({
      names: { type: 'array', items: { type: 'string' }, maxItems: MAX_NAMES },
      find: { type: 'string', maxLength: MAX_WORDS },
    }),
    annotations: READS,
    async run(call, args) {
      await mayAsk(call);
      const names = (args['names'] ?? []) as readonly string[];
      const find = textIn(args, 'find');
      const parts = [
        ...(names.length > 0 ? [proseOf(schema, names)] : []),
        ...(find === undefined ? [] : [found(schema, find)]),
      ];
      return { text: parts.join('\n\n') || indexOfGraph(schema) };
    },
  };
}

function found(schema: GraphQLSchema, text: string): string {
  const lines = search(schema, text, MOST_FOUND);
  if (lines.length > 0) return lines.join('\n');
  return `Nothing has ${JSON.stringify(text)} in its name or prose. graph_describe without arguments lists the root fields.`;
}
