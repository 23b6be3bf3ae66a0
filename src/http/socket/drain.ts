import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../scheduling/clock.ts';
import { inNextTurn } from '../../scheduling/loop-turns.ts';
import { HANDOVER, isForwarded } from '../door/sender.ts';
import { StallGuard } from './stall-guard.ts';

/** How long a connection may be idle at a stop before it is closed, in milliseconds: a request may be on its way. */
const IDLE_MS = 1000;

/** Tracks the running requests, and closes the connections of a server without interrupting a response. */
export class Drain {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #running = new Set<ServerResponse>();
  readonly #connections = new Set<Socket>();
  readonly #stalls: StallGuard;
  /**
   * Whether every connection is closed after its next response. Set by `begin` only; a field, because each request
   * reads it.
   */
  begun = false;
  #closed: Promise<void> | undefined;
  #cancelLook = (): void => {};

  /** `graceMs`: time for running requests after `close`, in milliseconds. */
  constructor(server: Server, options: { readonly clock: Clock; readonly graceMs: number }) {
    this.#server = server;
    this.#clock = options.clock;
    this.#graceMs = options.graceMs;
    this.#stalls = new StallGuard(options.clock, this.#running);
    server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  /** Records a request that is running, or whose response the client has not received completely. */
  watch(response: ServerResponse): void {
    this.#running.add(response);
    response.once('close', () => {
      this.#running.delete(response);
      // Only after this event does Node count the connection as idle.
      if (this.#closed) inNextTurn(() => this.#server.closeIdleConnections());
    });
    if (!this.#stalls.looking) this.#stalls.lookLater();
    if (this.begun && !response.headersSent) response.setHeader('Connection', 'close');
  }

  /** Closes every connection after its next response from now on. */
  begin(): void {
    this.begun = true;
  }

  /** Takes no new connection, lets running requests finish within the grace, then ends them. */
  close(): Promise<void> {
    this.begin();
    this.#stalls.hasten();
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const response of this.#running) {
      if (response.headersSent) continue;
      response.setHeader('Connection', 'close');
      if (isForwarded(response.req)) response.setHeader(HANDOVER, '1');
    }
    // Node does not count those as idle on which nothing was ever sent, as browsers open them ahead of need.
    for (const socket of this.#connections) if (socket.bytesRead === 0) socket.destroy();
    // Node closes the idle connections itself; the others close after their response.
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    const cancel = this.#clock.after(this.#graceMs, () => this.#server.closeAllConnections());
    this.#closeIdle(new Set());
    await closed;
    cancel();
    this.#cancelLook();
  }

  /**
   * Closes the connections that were idle at the look before and still are. Node does not count one as idle on which
   * a part of a request has come.
   */
  #closeIdle(before: ReadonlySet<Socket>): void {
    const busy = new Set([...this.#running].map(({ socket }) => socket));
    const idle = new Set(
      [...this.#connections].filter((each) => !busy.has(each) && each.writableLength === 0),
    );
    for (const socket of idle) if (before.has(socket)) socket.destroy();
    this.#cancelLook = this.#clock.after(IDLE_MS, () => this.#closeIdle(idle));
  }
}
