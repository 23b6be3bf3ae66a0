import type { Viewer } from '../auth/viewer.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import { requireSchemaAccess, type SchemaAccess } from '../graphql/schema-access.ts';
import type { CallerBudget } from '../upstream/budget/budgets.ts';
import { type AgentCall, AgentGraph, type AgentGraphOptions } from './agent-graph.ts';
import { createAgentHandler, type McpHandler } from './mcp-handler.ts';
import { changeTool } from './tools/change.ts';
import { describeTool } from './tools/describe.ts';
import { type FindOutput, jobTool } from './tools/job.ts';
import { listedTools } from './tools/listed.ts';
import { priceTool } from './tools/price.ts';
import { readTool } from './tools/read.ts';

/** What the tools of agents are made of. */
export interface AgentParts {
  readonly access: SchemaAccess;
  /** Resolves for a caller whose own key the link-management API accepts: 0 or 1 upstream request. */
  readonly accepted: (viewer: Viewer) => Promise<void>;
  /** The state of the rate limit for a caller; `null` if it is unknown. */
  readonly budgetOf: (viewer: Viewer) => Promise<CallerBudget | null>;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
  readonly find: FindOutput;
  readonly graph: AgentGraphOptions;
  readonly maskError: MaskError;
  /** Whether there are tools that change something. */
  readonly mayChange: boolean;
}

/** Creates all tools of agents, and what serves them. Loaded with the first request to `/mcp`. */
export function createAgents(parts: AgentParts): McpHandler {
  const { access, accepted, budgetOf, complain, find, maskError, mayChange } = parts;
  const graph = new AgentGraph(parts.graph);
  const mayAsk = ({ viewer }: AgentCall) => requireSchemaAccess(viewer, access, accepted);
  const tools = [
    describeTool({ schema: graph.schema, mayAsk }),
    priceTool(graph),
    readTool(graph),
    ...(mayChange ? [changeTool(graph)] : []),
    jobTool(graph, find),
    ...listedTools(graph, { complain, mayChange }),
  ];
  return createAgentHandler({ tools, budgetOf, maskError });
}
