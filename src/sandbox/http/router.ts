import { type Answer, Refusal } from './answer.ts';
import type { Spool } from './spool.ts';

/** A request as endpoints and pages get it. */
export interface SandboxRequest {
  readonly method: string;
  /** Percent-encoded path without the sandbox's prefix. */
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: Record<string, string>;
  /** Parsed body: JSON, or a form as a map. Undefined when empty or not readable. */
  readonly body: unknown;
  readonly bytes: Buffer;
  /** The body, if it is too large for `bytes`; `bytes` is empty then. */
  readonly spool?: Spool | undefined;
}

/** Endpoints by method and path, such as `GET /api/channel/:id`. */
export type Routes<Context, Result = Answer> = Readonly<
  Record<string, (context: Context, params: Record<string, string>) => Result>
>;

/** Runs the endpoint for a request. Throws a refusal with 404 or 405 if there is none. */
export function runRoute<Context, Result>(
  routes: Routes<Context, Result>,
  { method, path }: Pick<SandboxRequest, 'method' | 'path'>,
  context: Context,
): Result {
  let known = false;
  for (const [name, run] of Object.entries(routes)) {
    const [allowed, pattern = ''] = name.split(' ');
    const params = matchPath(pattern, path);
    if (!params) continue;
    if (allowed === method) return run(context, params);
    known = true;
  }
  throw known
    ? new Refusal(405, `Method ${method} is not allowed here`)
    : new Refusal(404, 'The requested endpoint does not exist');
}

/** Path parameters when the path matches the pattern, else undefined. */
function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.replace(/\/$/, '').split('/');
  const given = path.replace(/\/$/, '').split('/');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== value) return undefined;
      continue;
    }
    const name = part.slice(1);
    // In the notation of the documentation, ids are integers.
    if (name.endsWith('id') && !/^\d{1,15}$/.test(value)) return undefined;
    if (value === '') return undefined;
    params[name] = decode(value);
  }
  return params;
}

/** A decoded segment of the path; one with invalid escapes is unchanged. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
