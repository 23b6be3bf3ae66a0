import { createHash } from 'node:crypto';
import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Receipt } from '../../upstream/receipt.ts';

interface Facts {
  readonly ageSeconds: number;
  readonly etag: string;
}

/**
 * Tells browsers what they may do with the answer to a GET: keep it for themselves, ask again before
 * they use it (`ETag`), and how old the oldest thing in it is (`Age`, in seconds). An answer that the
 * browser has already is not sent again. What an operation cost is left out of the comparison.
 * Implements: RFC 9111 section 5.1, RFC 9110 section 8.8.3.
 */
export function useHttpCaching(): Plugin {
  const facts = new WeakMap<Request, Facts>();
  return {
    onExecute({ args }) {
      const { request, receipt } = args.contextValue as unknown as {
        readonly request: Request;
        readonly receipt: Receipt;
      };
      if (request.method !== 'GET') return undefined;
      return {
        onExecuteDone({ result }) {
          if (Symbol.asyncIterator in result) return;
          const { data, errors } = result as ExecutionResult;
          const hash = createHash('sha256').update(JSON.stringify({ data, errors }));
          facts.set(request, {
            ageSeconds: Math.floor(receipt.summary.maxAgeMs / 1000),
            // Weak: the same data, though what it cost to get them differs.
            etag: `W/"${hash.digest('base64url').slice(0, 27)}"`,
          });
        },
      };
    },
    onResponse(payload) {
      const { request, response } = payload;
      const known = facts.get(request);
      if (!known) {
        if (request.method === 'POST') response.headers.set('Cache-Control', 'no-store');
        return;
      }
      const { headers } = response;
      headers.set('Cache-Control', 'private, no-cache');
      headers.set('Age', String(known.ageSeconds));
      headers.append('Vary', 'Accept, Authorization');
      if (response.status !== 200) return;
      headers.set('ETag', known.etag);
      if (holds(request.headers.get('if-none-match'), known.etag)) {
        headers.delete('Content-Type');
        headers.delete('Content-Length');
        payload.setResponse(new Response(null, { status: 304, headers }));
      }
    },
  };
}

/** Whether a list of tags names this one, compared weakly, as RFC 9110 section 13.1.2 wants. */
function holds(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === bare);
}
