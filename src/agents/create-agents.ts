import { execute, type GraphQLSchema, isObjectType, parse } from 'graphql';
import type { Credential } from '../auth/credential.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Digest } from '../digest.ts';
import type { GraphContext } from '../graph/context.ts';
import { encodeGlobalId } from '../graph/ids/global-id.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import { requireSchemaAccess, type SchemaAccess } from '../graphql/schema-access.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { CallerBudget } from '../upstream/budget/budgets.ts';
import type { Records } from '../upstream/idempotency/records.ts';
import type { AgentCall } from './agent-call.ts';
import { AgentGraph, type AgentGraphOptions } from './agent-graph.ts';
import { Approvals, type ChangesAllowed } from './changes/approvals.ts';
import { ChangeKeys } from './changes/change-keys.ts';
import { Confirmations } from './changes/confirmations.ts';
import type { NameOfObject } from './changes/effects.ts';
import { OnceRecords } from './changes/once-records.ts';
import { createAgentHandler, type McpHandler } from './mcp-handler.ts';
import { changeTool } from './tools/change.ts';
import { describeTool } from './tools/describe.ts';
import { jobTool } from './tools/job.ts';
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
  /** The context of an operation that is executed from the cache only. */
  readonly cacheOnly: (viewer: Viewer) => GraphContext;
  readonly changes: ChangesAllowed;
  readonly clock: Clock;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
  readonly credentialOf: (viewer: Viewer) => Credential;
  /** An HMAC with a secret that all replicas have. */
  readonly digest: Digest;
  readonly graph: AgentGraphOptions;
  readonly maskError: MaskError;
  readonly records: Records;
}

/** Creates all tools of agents, and what serves them. Loaded with the first request to `/mcp`. */
export function createAgents(parts: AgentParts): McpHandler {
  const { access, accepted, changes, clock, complain, credentialOf, digest } = parts;
  const { budgetOf, cacheOnly, maskError, records } = parts;
  const graph = new AgentGraph(parts.graph);
  const once = new OnceRecords(records);
  const approvals = new Approvals({
    allowed: changes,
    graph,
    confirmations: new Confirmations({ clock, digest, records: once }),
    keys: new ChangeKeys(clock, once),
    credentialOf,
    nameOf: namesInCache(graph.schema, cacheOnly),
  });
  const options = { approvals, graph };
  const mayAsk = ({ viewer }: AgentCall) => requireSchemaAccess(viewer, access, accepted);
  const tools = [
    describeTool({ schema: graph.schema, mayAsk }),
    priceTool(options),
    readTool(options),
    ...(changes === 'off' ? [] : [changeTool(options)]),
    jobTool(options),
    ...listedTools(options, { changes, complain }),
  ];
  return createAgentHandler({ tools, budgetOf, maskError });
}

/** Looks up the names of objects in the cache, as a caller may see them. No upstream request. */
function namesInCache(
  schema: GraphQLSchema,
  cacheOnly: AgentParts['cacheOnly'],
): (viewer: Viewer) => NameOfObject {
  const node = schema.getType('Node');
  const types = Object.values(schema.getTypeMap()).filter(
    (type) =>
      isObjectType(type) &&
      type.getInterfaces().some(({ name }) => name === node?.name) &&
      type.getFields()['name'] !== undefined,
  );
  const selections = types.map(({ name }) => `... on ${name} { name }`).join(' ');
  const document = parse(`query ($id: ID!) { node(id: $id) { type: __typename ${selections} } }`);
  return (viewer) => async (id, typename) => {
    // Arguments also accept the numbers of the API, which do not say the type.
    const variableValues = { id: /^\d+$/.test(id) ? encodeGlobalId(typename, id) : id };
    const contextValue = cacheOnly(viewer);
    const { data } = await execute({ schema, document, contextValue, variableValues });
    const found = data?.['node'] as { readonly type: string; readonly name?: string | null } | null;
    return found?.name == null ? null : { type: found.type, name: found.name };
  };
}
