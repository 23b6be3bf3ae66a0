/** One request that reached an API of the sandbox, refused ones included. */
export interface LoggedRequest {
  readonly method: string;
  /** Path without query and without the sandbox's prefix: `/api/...`. */
  readonly path: string;
  readonly query: Record<string, string>;
  /** Bearer key or `api_key` it came with. */
  readonly credential: string | undefined;
  /** Header names in lower case. */
  readonly headers: Record<string, string>;
  /** Parsed JSON or form; the number of bytes for an upload; undefined when there was no body. */
  readonly body: unknown;
  /** HTTP status of the answer; 0 while, or if, there is none. */
  readonly status: number;
  /** Wall time of its arrival, in milliseconds. */
  readonly at: number;
  /** Whether the rate limit, real or scripted, refused it. */
  readonly refused: boolean;
  /** Kind of the scripted fault that applied to it. */
  readonly fault: string | undefined;
}
