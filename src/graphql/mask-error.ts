import { GraphQLError, Kind } from 'graphql';
import { type ErrorCode, GatewayError, RejectedTogether } from '../errors.ts';

/** What a caller may see: a failure's own words if they were written for callers, else none of them. */
export type MaskError = (error: unknown) => GraphQLError;

type ShownCode = ErrorCode | 'GRAPHQL_PARSE_FAILED' | 'GRAPHQL_VALIDATION_FAILED' | typeof CANCELED;

/** For what fails because its caller has hung up: no caller sees it, and no log counts it. */
export const CANCELED = 'CANCELED';

/** The status of an answer that holds nothing but one error. With data beside it, the answer is a 200. */
const statusByCode: Readonly<Partial<Record<ShownCode, number>>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  BAD_USER_INPUT: 400,
  OPERATION_TOO_EXPENSIVE: 400,
  TOO_MANY_STREAMS: 429,
  INTERNAL_SERVER_ERROR: 500,
  // As proxies note it.
  [CANCELED]: 499,
};

/**
 * The one place where errors become answers. A `GatewayError` shows its message, code and details, however
 * deep GraphQL has wrapped it; GraphQL's own complaints about a document or its values pass with a
 * code of the promised list; everything else becomes `INTERNAL_SERVER_ERROR` and is handed to
 * `onUnexpected`, once per error however many fields it broke. An aborted request is not unexpected.
 * An error that it has made itself passes as it is.
 * Without `suggestions`, GraphQL's complaints do not name what was probably meant.
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
      return show(located, CANCELED, 'The request was canceled');
    }
    if (typeof reason !== 'object' || reason === null || !reported.has(reason)) {
      if (typeof reason === 'object' && reason !== null) {
        reported.add(reason);
      }
      onUnexpected(reason);
    }
    return show(located, 'INTERNAL_SERVER_ERROR', 'Something went wrong');
  };
  return (error) => {
    if (error instanceof GraphQLError && made.has(error)) return error;
    const shown = mask(error);
    made.add(shown);
    return shown;
  };
}

/**
 * True for a variable or an argument that does not fit its type. The executor gives these no code; what
 * distinguishes them from a resolver's failure is that they point at a value and not at a field. Custom scalars
 * may throw what they like, so this is asked before the reason is.
 */
function isAboutValues(error: GraphQLError): boolean {
  return (
    error.nodes !== undefined &&
    error.nodes.length > 0 &&
    error.nodes.every((node) => node.kind !== Kind.FIELD)
  );
}

/** A complaint of GraphQL without what a misspelled word is close to: those add up to the whole schema. */
export function withoutSuggestion(message: string): string {
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

/** Null for a `GraphQLError` that is none of GraphQL's own, e.g. a result its scalar cannot carry. */
function graphqlCode(error: GraphQLError, inField: boolean): ShownCode | null {
  const { code } = error.extensions;
  if (code === 'GRAPHQL_PARSE_FAILED' || code === 'GRAPHQL_VALIDATION_FAILED') {
    return code;
  }
  // Whatever else is refused outside of any field is about the request as a whole.
  return inField ? null : 'BAD_USER_INPUT';
}

/** A caller who has hung up: a signal says so or, where the body was still being read, Node itself. */
function isAbort(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  const isReset = 'code' in reason && reason.code === 'ECONNRESET';
  return reason.name === 'AbortError' || (isReset && reason.message === 'aborted');
}

/**
 * Status and headers that an error brings along. Yoga would answer 200 to a request that is no JSON when
 * the caller accepts `application/json`, which is meant for what GraphQL itself complains about.
 */
function httpOf(located: GraphQLError | undefined): unknown {
  const { http, code } = located?.extensions ?? {};
  if (code !== 'BAD_REQUEST' || typeof http !== 'object' || http === null) return http;
  return { ...http, spec: false };
}

/** Where a time is known, HTTP says it too, in whole seconds: not every client reads the errors of a refusal. */
function retryAfter({ retryAfterMs }: Readonly<Record<string, unknown>>): object {
  if (typeof retryAfterMs !== 'number') return {};
  return { headers: { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) } };
}

function show(
  located: GraphQLError | undefined,
  code: ShownCode,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): GraphQLError {
  // `http` is Yoga's: it becomes the status and is left out of the answer.
  const http =
    httpOf(located) ??
    (located?.path === undefined
      ? { status: statusByCode[code] ?? 503, ...retryAfter(details) }
      : undefined);
  return new GraphQLError(message, {
    nodes: located?.nodes ?? null,
    source: located?.source ?? null,
    positions: located?.positions ?? null,
    path: located?.path ?? null,
    extensions: { ...details, code, ...(http === undefined ? {} : { http }) },
  });
}
