import { GraphQLError, Kind } from 'graphql';
import { type ErrorCode, GatewayError, RejectedTogether } from '../errors.ts';

/** Converts a failure into what a caller may see: its own message only if that was written for callers. */
export type MaskError = (error: unknown) => GraphQLError;

type ShownCode = ErrorCode | 'GRAPHQL_PARSE_FAILED' | 'GRAPHQL_VALIDATION_FAILED' | typeof CANCELED;

/** For what fails because its caller has hung up: no caller sees it, and no log counts it. */
export const CANCELED = 'CANCELED';

/** The status of a response with an error and no data. With data, the status is 200. */
const statusByCode: Readonly<Partial<Record<ShownCode, number>>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  BAD_USER_INPUT: 400,
  OPERATION_TOO_EXPENSIVE: 400,
  TOO_MANY_STREAMS: 429,
  TOO_MANY_JOBS: 429,
  IDEMPOTENCY_KEY_IN_USE: 409,
  IDEMPOTENCY_KEY_REUSED: 422,
  INTERNAL_SERVER_ERROR: 500,
  // As proxies note it.
  [CANCELED]: 499,
};

/**
 * The status of a response with an error of a field, for clients that accept `application/graphql-response+json`. The
 * others read no body of such a status, and receive 200.
 */
const fieldStatusByCode: Readonly<Partial<Record<ShownCode, number>>> = {
  IDEMPOTENCY_KEY_IN_USE: 409,
  IDEMPOTENCY_KEY_REUSED: 422,
};

/**
 * The one place where exceptions become response errors. A `GatewayError` shows its message, code and details,
 * however often GraphQL has wrapped it; GraphQL's own errors about a document or its values get one of the
 * documented codes; everything else becomes `INTERNAL_SERVER_ERROR` and is passed to `onUnexpected`, once per
 * exception. An aborted request is not unexpected. An error created here is returned unchanged. Without
 * `suggestions`, GraphQL's errors contain no suggested names.
 */
export function createMaskError(
  onUnexpected: (error: unknown) => void,
  { suggestions = true }: { readonly suggestions?: boolean } = {},
): MaskError {
  const reported = new WeakSet();
  const made = new WeakSet();
  const paths = new WeakMap<GatewayError, readonly (string | number)[]>();
  const messageOf = (error: GatewayError): string => {
    const path = error instanceof RejectedTogether ? paths.get(error.first) : undefined;
    return path ? `Rejected together with \`${pathText(path)}\`.` : error.message;
  };
  const words = ({ message }: GraphQLError): string =>
    suggestions ? message : withoutSuggestion(message);
  const mask: MaskError = (error) => {
    const located = error instanceof GraphQLError ? error : undefined;
    if (located && isAboutValues(located)) {
      return show(located, 'BAD_USER_INPUT', words(located));
    }
    const reason = innermost(error);
    if (reason instanceof GatewayError && reason.code !== 'INTERNAL_SERVER_ERROR') {
      if (located?.path && !paths.has(reason)) paths.set(reason, located.path);
      return show(located, reason.code, messageOf(reason), reason.details);
    }
    if (reason instanceof GraphQLError) {
      const code = graphqlCode(reason, located?.path !== undefined);
      if (code) {
        return show(located, code, words(reason));
      }
    }
    if (isAbort(reason)) {
      return show(located, CANCELED, 'The request was canceled.');
    }
    if (typeof reason !== 'object' || reason === null || !reported.has(reason)) {
      if (typeof reason === 'object' && reason !== null) {
        reported.add(reason);
      }
      onUnexpected(reason);
    }
    return show(
      located,
      'INTERNAL_SERVER_ERROR',
      'Internal error. The log of the gateway has the cause.',
    );
  };
  return (error) => {
    if (error instanceof GraphQLError && made.has(error)) return error;
    const shown = mask(error);
    made.add(shown);
    return shown;
  };
}

/**
 * True for a variable or an argument of the wrong type. The executor gives these errors no code; they differ from
 * a resolver's failure in that they refer to a value and not to a field. Custom scalars may throw anything, so
 * this is checked before the reason.
 */
function isAboutValues(error: GraphQLError): boolean {
  return (
    error.nodes !== undefined &&
    error.nodes.length > 0 &&
    error.nodes.every((node) => node.kind !== Kind.FIELD)
  );
}

/**
 * Whether an error is one of the request itself: of its values, or one that the gateway has meant for its caller. The
 * others of a dry run are caused by responses that it does not have.
 */
export function isOfRequest(error: GraphQLError): boolean {
  const isOfField = error.path !== undefined && !isAboutValues(error);
  return !isOfField || innermost(error) instanceof GatewayError;
}

/** An error of GraphQL without similar names: together, those reveal the whole schema. */
function withoutSuggestion(message: string): string {
  return message.replace(/ Did you mean .*\?$/s, '');
}

/** A path as in code, e.g. `qrCodes.nodes[4].statistics`. */
function pathText([first = '', ...steps]: readonly (string | number)[]): string {
  const rest = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return `${first}${rest.join('')}`;
}

function innermost(error: unknown): unknown {
  let reason = error;
  while (reason instanceof GraphQLError && reason.originalError) {
    reason = reason.originalError;
  }
  return reason;
}

/** Null for a `GraphQLError` that is not one of GraphQL's own, e.g. a result that its scalar cannot serialize. */
function graphqlCode(error: GraphQLError, inField: boolean): ShownCode | null {
  const { code } = error.extensions;
  if (code === 'GRAPHQL_PARSE_FAILED' || code === 'GRAPHQL_VALIDATION_FAILED') {
    return code;
  }
  // All other errors outside of fields concern the request as a whole.
  return inField ? null : 'BAD_USER_INPUT';
}

/** A client that has disconnected: detected by a signal or, while the body is being read, by Node. */
function isAbort(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  const isReset = 'code' in reason && reason.code === 'ECONNRESET';
  return reason.name === 'AbortError' || (isReset && reason.message === 'aborted');
}

/**
 * Status and headers of an error. Yoga would respond with 200 to a request that is not JSON if the client accepts
 * `application/json`, which is meant for GraphQL's own errors.
 */
function httpOf(located: GraphQLError | undefined): unknown {
  const { http, code } = located?.extensions ?? {};
  if (code !== 'BAD_REQUEST' || typeof http !== 'object' || http === null) return http;
  return { ...http, spec: false };
}

/**
 * A known retry time is also sent as a header, in whole seconds: not every client reads the errors of a refusal.
 */
function retryAfter({ retryAfterMs }: Readonly<Record<string, unknown>>): object {
  if (typeof retryAfterMs !== 'number') return {};
  return { headers: { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) } };
}

/** Status and headers by the code of an error; `undefined` for most errors of a field, which have no effect on them. */
function httpByCode(
  code: ShownCode,
  details: Readonly<Record<string, unknown>>,
  inField: boolean,
): object | undefined {
  if (!inField) return { status: statusByCode[code] ?? 503, ...retryAfter(details) };
  const status = fieldStatusByCode[code];
  return status === undefined ? undefined : { status, spec: true, ...retryAfter(details) };
}

function show(
  located: GraphQLError | undefined,
  code: ShownCode,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): GraphQLError {
  // `http` is for Yoga: it becomes the status and is omitted from the response.
  const http = httpOf(located) ?? httpByCode(code, details, located?.path !== undefined);
  return new GraphQLError(message, {
    nodes: located?.nodes ?? null,
    source: located?.source ?? null,
    positions: located?.positions ?? null,
    path: located?.path ?? null,
    extensions: { ...details, code, ...(http === undefined ? {} : { http }) },
  });
}
