import type { Plugin } from 'graphql-yoga';
import type { Viewer } from '../../auth/viewer.ts';
import type { Callers } from '../door/caller.ts';
import type { SocketContext } from './yoga.ts';

/** The plugin, and who turned out to have sent a request that it let through. */
export interface Authentication {
  readonly plugin: Plugin;
  readonly viewerOf: (request: Request) => Viewer;
}

/** Settles who sent a request before its body is read; an unknown sender's costs nothing more. */
export function useAuthentication(callers: Callers): Authentication {
  const viewers = new WeakMap<Request, Viewer>();
  return {
    plugin: {
      onRequestParse({ request, serverContext }) {
        const { req } = serverContext as SocketContext;
        const viewer = callers.identify(request.headers.get('authorization'), req ?? null);
        if (!(viewer instanceof Promise)) {
          viewers.set(request, viewer);
          return undefined;
        }
        return viewer.then((known) => void viewers.set(request, known));
      },
    },
    viewerOf(request) {
      const viewer = viewers.get(request);
      // A way past the check would be a hole, so it is a failure and not an anonymous caller.
      if (!viewer) throw new TypeError('a request was not authenticated');
      return viewer;
    },
  };
}
