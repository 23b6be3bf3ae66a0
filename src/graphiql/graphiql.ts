import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BuiltPages } from '../http/pages/built-pages.ts';
import type { Example } from './examples.ts';

/** GraphiQL in a page that needs no other host. */
export interface GraphiqlPage {
  /** Answers GET and HEAD, with 304 when the browser has the page already. Never rejects. */
  send(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * GraphiQL as the build has made it. `examples` are the tabs of a first visit; later ones open on what the browser
 * remembers.
 */
export function createGraphiqlPage(examples: readonly Example[], pages: BuiltPages): GraphiqlPage {
  return {
    send: pages.document('graphiql', {
      data: { examples },
      // The editor styles itself from scripts.
      policy: ["style-src 'self' 'unsafe-inline'"],
    }),
  };
}
