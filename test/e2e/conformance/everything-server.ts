import { mcpRoute } from '../../../src/agents/mcp-route.ts';
import { createMaskError } from '../../../src/graphql/mask-error.ts';
import { Door } from '../../../src/http/door/admission.ts';
import { BodyPool } from '../../../src/http/door/body/body-pool.ts';
import { createHostGuard } from '../../../src/http/door/host-guard.ts';
import { Origins } from '../../../src/http/door/origins.ts';
import { Codings } from '../../../src/http/encoding/codings.ts';
import { serveOn } from '../../../src/http/server.ts';
import { Port } from '../../../src/http/socket/port.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import { operatorRoutes } from '../../../src/operators/operator-pages.ts';
import { systemClock } from '../../../src/scheduling/clock.ts';
import { serveEverything } from './everything.ts';

const HOST = '127.0.0.1';
const MAX_BODY_BYTES = 1_000_000;

/**
 * Starts the gateway's HTTP server, with its door and its route for agents, in front of a server with everything that
 * the suite asks for.
 */
export async function startEverything(): Promise<{
  readonly server: Port;
  readonly url: string;
}> {
  const maskError = createMaskError(() => {});
  const server = new Port({ clock: systemClock, graceMs: 1000 });
  serveOn(server, {
    codings: new Codings(),
    fastPath: null,
    events: new EventStream(),
    graphql: () => undefined,
    graphiql: (_, response) => void response.end(),
    routes: [
      {
        ...mcpRoute({
          clock: systemClock,
          hasProvider: false,
          load: async () => serveEverything(),
          maskError,
          bodyPool: new BodyPool(),
        }),
        ...operatorRoutes({
          access: 'local',
          metrics: { render: () => Promise.reject(new Error('no metrics here')) },
          console: {},
          probe: () => {},
          state: (draining) => ({ ready: !draining, reasons: [], degraded: [] }),
        }),
      },
    ],
    door: new Door({
      authenticate: () => ({ name: 'anyone', role: 'admin' }),
      hostGuard: createHostGuard(HOST, []),
      origins: new Origins([], { loopback: false, onRefused: () => {} }),
    }),
    bodyLimits: { maxBodyBytes: MAX_BODY_BYTES },
    clock: systemClock,
  });
  return { server, url: (await server.listen(0, HOST)).url };
}
