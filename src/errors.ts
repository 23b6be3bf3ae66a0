import type { Resource } from './resources.ts';

/**
 * Every failure the gateway shows to a caller. The codes are a promise to frontends; the messages are
 * for people and never carry an upstream URL, key or body.
 */
export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'BAD_USER_INPUT'
  | 'PERSISTED_QUERY_NOT_FOUND'
  | 'OPERATION_TOO_EXPENSIVE'
  | 'BUDGET_EXHAUSTED'
  | 'TOO_MANY_STREAMS'
  | 'UPSTREAM_UNAVAILABLE'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_INVALID_RESPONSE'
  | 'UPSTREAM_UNAUTHENTICATED'
  | 'UPSTREAM_FORBIDDEN'
  | 'UPSTREAM_REJECTED'
  | 'UPSTREAM_NOT_CONFIGURED'
  | 'OUTCOME_UNKNOWN'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'JOBS_NOT_CONFIGURED'
  | 'TOO_MANY_JOBS'
  | 'INTERNAL_SERVER_ERROR';

/** The upstream APIs by the names they have in the graph (`UpstreamName`). */
export type UpstreamName = 'LINKS' | 'MARKET';

/** The two APIs at the beginning of a message. */
export const upstreamTitle: Readonly<Record<UpstreamName, string>> = {
  LINKS: 'The link-management API',
  MARKET: 'The marketplace API',
};

/**
 * A failure that may be shown as it is: `message` for a person, `code` for a program, `details` as
 * further members of the GraphQL error's `extensions`. The original reason, if any, is its `cause`:
 * that one is for the operator's log and never leaves the process.
 */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** `BAD_USER_INPUT`: an invalid argument. Costs no upstream request. */
export class BadUserInput extends GatewayError {
  override readonly name = 'BadUserInput';
  constructor(message: string, details?: Readonly<Record<string, unknown>>) {
    super('BAD_USER_INPUT', message, details ? { details } : {});
  }
}

/** The kinds of validation errors of an input member. The codes are a promise to frontends, like `ErrorCode`. */
export type InputIssueCode =
  | 'REQUIRED'
  | 'REQUIRED_ANY_OF'
  | 'BLANK'
  | 'EMPTY'
  | 'TOO_SHORT'
  | 'TOO_LONG'
  | 'TOO_LARGE'
  | 'OUT_OF_RANGE'
  | 'NOT_IN_FUTURE'
  | 'INVALID_ID'
  | 'INVALID_CHARACTERS'
  | 'INVALID_EMAIL'
  | 'INVALID_URL'
  | 'INVALID_DOMAIN'
  | 'INVALID_COLOR'
  | 'INVALID_PICTURE'
  | 'INVALID_PHONE'
  | 'INVALID_DATE'
  | 'INVALID_FILENAME'
  | 'NOT_FOR_TYPE'
  | 'UNKNOWN_OPTION'
  | 'REPEATED_OPTION'
  | 'INVALID_OPERATION';

/** A validation error: a code for programs, parameters for translations, and a message for people. */
export interface InputFault {
  readonly code: InputIssueCode;
  /** The parameters of a translated message; each code has its own names. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A validation error of an input: its path, from the argument's name on, and its kind. */
export interface InputIssue extends InputFault {
  readonly path: readonly string[];
}

/** `BAD_USER_INPUT` with all validation errors of an input; mutations return it as `InvalidInput`. */
export class InvalidInput extends GatewayError {
  override readonly name = 'InvalidInput';
  readonly issues: readonly InputIssue[];
  constructor(issues: readonly InputIssue[]) {
    const [first] = issues;
    const message =
      issues.length === 1 && first
        ? `${first.path.join('.') || 'The input'}: ${first.message}`
        : `The input has ${issues.length} validation errors.`;
    super('BAD_USER_INPUT', message, { details: { issues } });
    this.issues = issues;
  }
}

/**
 * Why no request can be sent in time. `limit`: the rate limit is reached. `paused`: the upstream has refused a request.
 * `starting`: earlier requests are unknown, so half of the limit is left out. `stopping`: the gateway shuts down. `class`: the limit of a class of callers. `keys`: too many keys of callers.
 * `changes`: other changes of the same object.
 */
export type ExhaustedReason =
  | 'limit'
  | 'paused'
  | 'starting'
  | 'stopping'
  | 'class'
  | 'keys'
  | 'changes';

/** `api`: the title of the upstream inside a sentence. */
const exhausted: Readonly<Record<ExhaustedReason, (api: string) => string>> = {
  limit: (api) => `The rate limit of ${api} is reached.`,
  paused: (api) => `T${api.slice(1)} has refused a request because of its rate limit.`,
  starting: () =>
    'After its start, the gateway sends fewer requests, because it does not know the earlier ones.',
  stopping: () => 'The gateway is shutting down and sends no further requests.',
  class: (api) => `The limit of this class of callers for ${api} is reached.`,
  keys: () => 'Too many API keys have sent requests in this window.',
  changes: () => 'Other changes of the same object take too long.',
};

/**
 * `BUDGET_EXHAUSTED`: no request is possible before the caller's deadline. `retryAfterMs` and `availableAt` say when one
 * is.
 */
export class BudgetExhausted extends GatewayError {
  override readonly name = 'BudgetExhausted';
  /** `own`: a more precise sentence, and the limit of a class. */
  constructor(
    upstream: UpstreamName,
    retryAfterMs: number,
    availableAt: Date,
    reason: ExhaustedReason = 'limit',
    { quota, sentence }: { readonly sentence?: string; readonly quota?: ExhaustedQuota } = {},
  ) {
    const why = sentence ?? exhausted[reason](upstreamTitle[upstream].replace('The', 'the'));
    super('BUDGET_EXHAUSTED', `${why} Retry in ${Math.ceil(retryAfterMs / 1000)} s.`, {
      details: {
        upstream,
        reason,
        retryAfterMs,
        availableAt: availableAt.toISOString(),
        ...(quota && { quota }),
      },
    });
  }
}

/** The limit of a class of callers that prevents a request; `resetAt` is when a request is possible, as ISO 8601. */
export interface ExhaustedQuota {
  readonly class: string;
  readonly limit: number;
  readonly resetAt: string;
}

/**
 * `UPSTREAM_REJECTED`: the upstream rejected the request. `reason` is its own message, which mutations return as
 * `Rejected.message`; a read's error does not repeat it.
 */
export class UpstreamRejected extends GatewayError {
  override readonly name = 'UpstreamRejected';
  readonly upstream: UpstreamName;
  readonly reason: string;
  constructor(upstream: UpstreamName, reason: string) {
    super('UPSTREAM_REJECTED', `${upstreamTitle[upstream]} rejected this request.`, {
      details: { upstream },
    });
    this.upstream = upstream;
    this.reason = reason;
  }
}

/**
 * `OPERATION_TOO_EXPENSIVE` for a read that is rejected because another one of its batch is: `first` has the
 * details. If the response contains the path of `first`, the message names it.
 */
export class RejectedTogether extends GatewayError {
  override readonly name = 'RejectedTogether';
  readonly first: GatewayError;
  constructor(upstream: UpstreamName, first: GatewayError) {
    super('OPERATION_TOO_EXPENSIVE', 'Rejected together with another field; see the first error.', {
      details: { upstream },
    });
    this.first = first;
  }
}

/** Any other failure of an upstream, by its code, with `extensions.upstream` naming which one. */
export class UpstreamFailure extends GatewayError {
  override readonly name = 'UpstreamFailure';
  constructor(
    upstream: UpstreamName,
    code: Extract<ErrorCode, `UPSTREAM_${string}` | 'OUTCOME_UNKNOWN'>,
    message: string,
    cause?: unknown,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(code, message, { details: { upstream, ...details }, cause });
  }
}

/** `OUTCOME_UNKNOWN`: it is not known whether a write has happened. */
export class OutcomeUnknown extends GatewayError {
  override readonly name = 'OutcomeUnknown';
  readonly upstream: UpstreamName;
  readonly advice: string;
  readonly options: OutcomeUnknownOptions;

  /** `advice` says what the caller can do. */
  constructor(upstream: UpstreamName, advice: string, options: OutcomeUnknownOptions) {
    const { cause, check, details } = options;
    super(
      'OUTCOME_UNKNOWN',
      `${upstreamTitle[upstream]} did not confirm this change. The change may have been made. ${advice}`,
      { details: { upstream, ...(check === null ? {} : { check }), ...details }, cause },
    );
    this.upstream = upstream;
    this.advice = advice;
    this.options = options;
  }
}

interface OutcomeUnknownOptions {
  /** The field that shows the outcome, e.g. `Query.campaigns`; `null` if it does not matter. */
  readonly check: string | null;
  /** When a retry can find out, and the rows that may be the result. */
  readonly details?: {
    readonly settlesAt?: string;
    readonly retryAfterMs?: number;
    /** Global ids. */
    readonly candidates?: readonly string[];
  };
  /** Rows that may be the result of a write with an unknown outcome. */
  readonly candidates?: { readonly resource: Resource; readonly ids: readonly number[] };
  readonly cause?: unknown;
}

/** `IDEMPOTENCY_KEY_IN_USE`: another request with the same idempotency key has not ended. This one sent nothing. */
export class IdempotencyKeyInUse extends GatewayError {
  override readonly name = 'IdempotencyKeyInUse';
  constructor(retryAfterMs: number) {
    super(
      'IDEMPOTENCY_KEY_IN_USE',
      'Another request with this idempotency key is in progress. Retry with the same key to get its result.',
      { details: { upstream: 'LINKS', retryAfterMs } },
    );
  }
}

/** `IDEMPOTENCY_KEY_REUSED`: the idempotency key was used for another mutation or input. Costs no upstream request. */
export class IdempotencyKeyReused extends GatewayError {
  override readonly name = 'IdempotencyKeyReused';
  constructor() {
    super(
      'IDEMPOTENCY_KEY_REUSED',
      'This idempotency key was used with another mutation or input. Send a new key for a new change.',
      { details: { upstream: 'LINKS' } },
    );
  }
}

/** Why a file cannot be used: the system's code, or what its reader said. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
