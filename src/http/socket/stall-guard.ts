import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../scheduling/clock.ts';

/** How long a client may read nothing of a response that is ready, in milliseconds. */
const STALL_MS = 30_000;
/** How often that is looked at while any request is running. */
const LOOK_MS = 10_000;
/** The same while the process stops, which is not to wait for such a client. */
const STALL_AT_STOP_MS = 2000;
const LOOK_AT_STOP_MS = 500;

/** The last observed state of a connection whose client has not received its whole response. */
interface Stall {
  readonly taken: number;
  readonly since: number;
}

/**
 * Destroys the connection of a client that has stopped reading: its pending data would stay in memory without a
 * time limit. All responses of all routes are included. Slow clients are not affected, nor are clients that wait
 * for a response, since there is nothing to read. Data that a client sends makes no difference.
 */
export class StallGuard {
  readonly #clock: Clock;
  readonly #running: ReadonlySet<ServerResponse>;
  readonly #stalls = new Map<Socket, Stall>();
  /** Whether it looks at connections. It ends once no request is running; a field, as each request reads it. */
  looking = false;
  #stallMs = STALL_MS;
  #lookMs = LOOK_MS;
  #cancelLook = (): void => {};

  /** `running`: the responses of the running requests. */
  constructor(clock: Clock, running: ReadonlySet<ServerResponse>) {
    this.#clock = clock;
    this.#running = running;
  }

  /** The process is about to stop: from now on a client has 2 seconds to take something. */
  hasten(): void {
    this.#stallMs = STALL_AT_STOP_MS;
    this.#lookMs = LOOK_AT_STOP_MS;
    if (!this.looking) return;
    this.#cancelLook();
    this.#look();
    this.lookLater();
  }

  /** Looks at connections from now on. */
  lookLater(): void {
    this.looking = true;
    this.#cancelLook = this.#clock.after(this.#lookMs, () => {
      this.#look();
      if (this.#running.size > 0) this.lookLater();
      else this.looking = false;
    });
  }

  #look(): void {
    const now = this.#clock.now();
    const sockets = new Set([...this.#running].flatMap(({ socket }) => socket ?? []));
    for (const socket of this.#stalls.keys()) {
      if (!sockets.has(socket)) this.#stalls.delete(socket);
    }
    for (const socket of sockets) {
      const taken = takenBy(socket);
      const before = this.#stalls.get(socket);
      if (taken === null) this.#stalls.delete(socket);
      else if (before?.taken !== taken) this.#stalls.set(socket, { taken, since: now });
      else if (now - before.since >= this.#stallMs) socket.destroy();
    }
  }
}

/** Bytes that have left for a client so far; `null` when nothing waits for it. */
function takenBy(socket: Socket): number | null {
  const { bytesWritten, writableLength } = socket;
  // Node looks at the same for its own timeout: one large piece is in a queue of the system's for long.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } };
  if (writableLength === 0) return null;
  return bytesWritten - writableLength - (handle?.writeQueueSize ?? 0);
}
