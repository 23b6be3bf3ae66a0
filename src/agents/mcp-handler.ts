import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  type JsonSchemaType,
  McpServer,
  type McpServerOptions,
  type ServerContext,
} from '@modelcontextprotocol/server';
import manifest from '../../package.json' with { type: 'json' };
import type { Viewer } from '../auth/viewer.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import type { CallerBudget } from '../upstream/budget/budgets.ts';
import type { AgentCall } from './agent-call.ts';
import { type BudgetLeft, costLine, leftOf } from './answers/cost-line.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { errorJson } from './tool-error.ts';
import type { AgentTool, Decision, ToolArguments, ToolOutcome } from './tools/tool.ts';

/** Handles the messages of agents. */
export interface McpHandler {
  /** Handles the body of a request. Never rejects. */
  handle(request: Request, body: unknown, call: AgentCall): Promise<Response>;
}

interface McpHandlerOptions {
  readonly tools: readonly AgentTool[];
  /** The state of the rate limit for a caller; `null` if it is unknown. */
  readonly budgetOf: (viewer: Viewer) => Promise<CallerBudget | null>;
  readonly maskError: MaskError;
}

/** How long a client may use a list of tools, in milliseconds: it changes only with another version. */
const LIST_TTL_MS = 60 * 60_000;
/** The name of the only question that a call can ask. */
const QUESTION = 'approve';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** What a request says about its client. */
interface Envelope {
  readonly [CAPABILITIES]?: { readonly elicitation?: object };
}

/**
 * The protocol, by its official library, in both eras: each request has a server of its own, and no session.
 * Implements: Model Context Protocol 2026-07-28, and 2025-11-25 without sessions.
 */
export function createAgentHandler({ budgetOf, maskError, tools }: McpHandlerOptions): McpHandler {
  const schemas = new Map(
    tools.map(({ input, name }) => [name, fromJsonSchema<ToolArguments>(input as JsonSchemaType)]),
  );
  return serveMcp((server, call) => {
    for (const tool of tools) {
      const { annotations, description, name, title } = tool;
      const inputSchema = schemas.get(name);
      if (!inputSchema) continue;
      server.registerTool(
        name,
        { title, description, inputSchema, annotations },
        async (args: ToolArguments, context: ServerContext) =>
          shown(await outcomeOf(tool, { ...call, signal: context.mcpReq.signal }, args, context)),
      );
    }
  });

  async function outcomeOf(
    tool: AgentTool,
    call: AgentCall,
    args: ToolArguments,
    context: ServerContext,
  ): Promise<ToolOutcome> {
    let outcome: ToolOutcome;
    try {
      outcome = await tool.run(call, args, decisionIn(context));
    } catch (error) {
      outcome = { kind: 'text', text: errorJson(error, maskError), isError: true };
    }
    if (outcome.kind === 'question') return outcome;
    const { cost, text } = outcome;
    return { ...outcome, text: `${text}\n${costLine(cost, await budgetLeft(call))}` };
  }

  /** `null` if it is unknown: the result is worth more than this line. */
  async function budgetLeft({ viewer }: AgentCall): Promise<BudgetLeft | null> {
    try {
      const state = await budgetOf(viewer);
      return state && leftOf(state);
    } catch (error) {
      maskError(error);
      return null;
    }
  }
}

/**
 * Serves the protocol; `register` gives the server of a request what it offers. `options` are those of each server,
 * beside its instructions.
 */
export function serveMcp(
  register: (server: McpServer, call: AgentCall) => void,
  options: Pick<McpServerOptions, 'capabilities' | 'requestState'> = {},
): McpHandler {
  const calls = new WeakMap<Request, AgentCall>();
  const handler = createMcpHandler(({ requestInfo }) => {
    const call = requestInfo && calls.get(requestInfo);
    if (!call) throw new TypeError('a request of an agent was not admitted');
    const server = new McpServer(
      { name: manifest.name, version: manifest.version },
      {
        instructions: INSTRUCTIONS,
        // It never changes, so that no client can subscribe to it.
        capabilities: { tools: { listChanged: false } },
        ...options,
        cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
      },
    );
    register(server, call);
    return server;
  });
  return {
    handle(request, parsedBody, call) {
      calls.set(request, call);
      return handler.fetch(request, { parsedBody });
    },
  };
}

/** The answer of the person to the question of an earlier round, if the client can ask. */
function decisionIn({
  mcpReq: { envelope, inputResponses, requestState },
}: ServerContext): Decision {
  const client: Envelope | undefined = envelope;
  const { elicitation } = client?.[CAPABILITIES] ?? {};
  // An empty capability is that of a form.
  const canAsk = elicitation !== undefined && ('form' in elicitation || !('url' in elicitation));
  if (!canAsk) return { canAsk: false };
  const response = inputResponses?.[QUESTION] as { readonly action?: unknown } | undefined;
  if (response === undefined) return { canAsk };
  const state = requestState();
  return {
    canAsk,
    isAccepted: response.action === 'accept',
    state: typeof state === 'string' ? state : undefined,
  };
}

function shown(outcome: ToolOutcome) {
  if (outcome.kind === 'question') {
    return inputRequired({
      inputRequests: {
        [QUESTION]: inputRequired.elicit({
          message: outcome.message,
          requestedSchema: { type: 'object', properties: {} },
        }),
      },
      requestState: outcome.state,
    });
  }
  const { isError = false, text } = outcome;
  return { content: [{ type: 'text' as const, text }], ...(isError && { isError }) };
}
