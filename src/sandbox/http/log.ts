/** A request that reached an API of the sandbox, also if it was refused. */
export interface LoggedRequest {
  readonly method: string;
  /** Path without query and without the sandbox's prefix: `/api/...`. */
  readonly path: string;
  readonly query: Record<string, string>;
  /** Its bearer key or `api_key`. */
  readonly credential: string | undefined;
  /** Header names in lower case. */
  readonly headers: Record<string, string>;
  /** Parsed JSON or form; the number of bytes for an upload; undefined when there was no body. */
  readonly body: unknown;
  /** HTTP status of the response; 0 without one. */
  readonly status: number;
  /** Wall time of its arrival, in milliseconds. */
  readonly at: number;
  /** Whether the rate limit refused it, for real or by a fault. */
  readonly refused: boolean;
  /** Kind of the fault that applied to it. */
  readonly fault: string | undefined;
}
