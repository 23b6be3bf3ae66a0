import type { ReceiptSummary } from '../../upstream/receipt.ts';
import type { AgentCall } from '../agent-graph.ts';

/** A JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The arguments of a tool, which its schema has accepted. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** What a tool returns. */
export interface ToolOutcome {
  readonly text: string;
  readonly isError?: boolean;
  /** Absent if nothing was executed. */
  readonly cost?: ReceiptSummary | undefined;
}

/** A tool that agents can call. */
export interface AgentTool {
  readonly name: string;
  /** Shown to people. */
  readonly title: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint: boolean;
  };
  /** Rejects with what is shown as an error. */
  readonly run: (call: AgentCall, args: ToolArguments) => Promise<ToolOutcome>;
}

/** A tool that changes nothing. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const;

/** A tool that changes the account: its calls can be repeated. */
export const CHANGES = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** A schema of an object with these members only. */
export function objectSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

/** The members of an operation. */
export const OPERATION = {
  operation: { type: 'string', description: 'GraphQL text of one operation, or a listed id' },
  variables: { type: 'object' },
} as const;

/** The idempotency key of a mutation. */
export const KEY = { key: { type: 'string', maxLength: 255 } } as const;

/** A text member of arguments; `undefined` if it is absent. */
export function textIn(args: ToolArguments, name: string): string | undefined {
  const value = args[name];
  return typeof value === 'string' ? value : undefined;
}

/** A number member of arguments; `undefined` if it is absent. */
export function numberIn(args: ToolArguments, name: string): number | undefined {
  const value = args[name];
  return typeof value === 'number' ? value : undefined;
}

/** The operation in arguments. */
export function operationIn(args: ToolArguments): {
  readonly operation: string;
  readonly variables: Readonly<Record<string, unknown>>;
} {
  const variables = (args['variables'] ?? {}) as Readonly<Record<string, unknown>>;
  return { operation: textIn(args, 'operation') ?? '', variables };
}
