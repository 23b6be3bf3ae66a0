import type { GraphQLError } from 'graphql';
import type { MaskError } from '../graphql/mask-error.ts';

/** The codes of results of tools, besides those of GraphQL errors. */
type ToolErrorCode = 'RESULT_TOO_LARGE' | 'TOO_MANY_CALLS' | 'WRONG_TOOL';

/** The failure of a call of a tool: a code, and what to do. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly code: ToolErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ToolErrorCode, message: string, details: ToolError['details'] = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** An error as JSON for an agent, in the format of GraphQL; what is not for callers is masked. */
export function errorJson(error: unknown, maskError: MaskError): string {
  const shown = error instanceof ToolError ? extended(error) : maskError(error);
  const { http: _, ...extensions } = shown.extensions;
  return JSON.stringify({ errors: [{ message: shown.message, extensions }] });
}

function extended({
  code,
  details,
  message,
}: ToolError): Pick<GraphQLError, 'extensions' | 'message'> {
  return { message, extensions: { code, ...details } };
}
