import { createServer, type RequestListener } from 'node:http';
import type { Clock } from '../../scheduling/clock.ts';
import { loopTurns } from '../../scheduling/loop-turns.ts';
import { refuseTunnel } from '../respond.ts';
import { Drain } from './drain.ts';
import { listen } from './listen.ts';

/** Connections at a time. Most callers of a busy gateway share those of a proxy. */
const MAX_CONNECTIONS = 10_000;
/** How often Node looks for connections whose headers are incomplete. */
const CHECK_MS = 5000;

/** A port, whose requests one handler answers at a time: it can be replaced without closing a connection. */
export class Port {
  /** Answers each request from now on; those that are running keep theirs. */
  handle: RequestListener = (_, response) => void response.destroy();
  readonly drain: Drain;
  readonly #server = createServer({ connectionsCheckingInterval: CHECK_MS });
  #listening: Promise<string> | undefined;

  /** `graceMs`: time for running requests after `close`, in milliseconds. */
  constructor(options: { readonly clock: Clock; readonly graceMs: number }) {
    const server = this.#server;
    const handle: RequestListener = (request, response) => this.handle(request, response);
    server.on('request', handle);
    // Node would answer `Expect: 100-continue` at once, before any check of the request.
    server.on('checkContinue', handle);
    server.on('connection', () => loopTurns.accepted());
    server.on('connect', refuseTunnel);
    server.maxConnections = MAX_CONNECTIONS;
    // Idle connections are closed to make room for new ones.
    server.on('drop', () => server.closeIdleConnections());
    // Long enough for a load balancer to reuse connections, which commonly give up after 60 s.
    server.keepAliveTimeout = 65_000;
    server.headersTimeout = 15_000;
    // This would also interrupt a slow upload, so `limitBodyTime` is used instead.
    server.requestTimeout = 0;
    this.drain = new Drain(server, options);
  }

  /**
   * Begins to listen, unless it does. Port 0 takes a free one. `url` is what a person on this machine can open, without a
   * trailing slash. `setting` is what the port was set by.
   * @throws ListenError when the address cannot be had; the message says what to set.
   */
  async listen(port: number, host: string, setting = 'PORT'): Promise<{ readonly url: string }> {
    this.#listening ??= listen(this.#server, port, host, setting);
    return { url: await this.#listening };
  }

  /** Reports from now on that it is not ready, and closes every connection after its next response. */
  retire(): void {
    this.drain.begin();
  }

  /** Takes no new connection, lets running requests finish within the grace, then ends them. */
  close(): Promise<void> {
    return this.drain.close();
  }
}
