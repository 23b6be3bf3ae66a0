import { createClient, ErrorReply, RESP_TYPES } from '@redis/client';
import type { Clock } from '../../scheduling/clock.ts';
import { RedisRefused } from '../failures.ts';
import { type Address, placeOf } from './address.ts';

/** A command as it is sent: its name, then its arguments. */
export type Command = readonly (string | Buffer)[];

/** The options of a client. */
export interface RedisClientOptions {
  readonly clock: Clock;
  /** How long it may take to get connected, the greetings included. */
  readonly connectMs: number;
  /** A connection that was there is gone. Called at most once, and not after `destroy`. */
  readonly lost: (reason: string) => void;
}

/** Values as they are, and not as text. */
const asBuffers = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/**
 * One connection to one server, from its opening to its end: it never reconnects and never sends a command twice.
 * The only file that uses the driver, most of whose own recovery is disabled here:
 * - it has no timeout for commands that were sent (`commandOptions.timeout` counts until then), nor for a server
 * that accepts the connection without responding;
 * - `destroy` does not affect a socket that is still connecting, so an abort signal does;
 * - the commands that it sends itself (`CLIENT SETINFO`, maintenance notices) would need permissions.
 */
export class RedisClient {
  readonly #place: string;
  readonly #secret: string | null;
  readonly #driver;
  readonly #abort = new AbortController();
  readonly #lost: (reason: string) => void;
  #state: 'connecting' | 'connected' | 'gone' = 'connecting';

  private constructor(address: Address, lost: (reason: string) => void) {
    this.#place = placeOf(address);
    this.#secret = address.password;
    this.#lost = lost;
    const { host, port, tls, username, password, database } = address;
    const { signal } = this.#abort;
    const socket = { host, port, signal, connectTimeout: 0, reconnectStrategy: false as const };
    this.#driver = createClient({
      RESP: 3,
      name: 'gateway',
      socket: tls ? { ...socket, tls } : { ...socket, tls },
      ...(username === null ? {} : { username }),
      ...(password === null ? {} : { password }),
      database,
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: 'disabled',
      commandOptions: { timeout: 0 },
    });
    this.#driver.on('error', (error: unknown) => this.#end(this.#said(error)));
  }

  /**
   * Opens a connection and does `prepare` with it, all within `connectMs`. Throws an `Error` that names
   * host, port and reason, and no secret; nothing of the connection is left then.
   */
  static async open(
    address: Address,
    options: RedisClientOptions,
    signal: AbortSignal,
    prepare: (client: RedisClient) => Promise<void> = async () => {},
  ): Promise<RedisClient> {
    const client = new RedisClient(address, options.lost);
    let reason: string | null = null;
    const giveUp = (): void => client.destroy();
    const cancel = options.clock.after(options.connectMs, () => {
      reason = `no connection within ${options.connectMs} ms`;
      giveUp();
    });
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      signal.throwIfAborted();
      await client.#driver.connect();
      await prepare(client);
      client.#refuseIfGone();
      client.#state = 'connected';
      return client;
    } catch (error) {
      client.destroy();
      reason ??= client.#said(error);
    } finally {
      cancel();
      signal.removeEventListener('abort', giveUp);
    }
    // Without its cause, which may hold what the server repeats.
    throw new Error(`${client.#place}: ${reason}`);
  }

  /**
   * Sends a command, together with all others of this turn of the event loop. Rejects with `RedisRefused` if Redis
   * replies with an error, and with another error if the connection ended before the reply.
   */
  async send(command: Command): Promise<unknown> {
    this.#refuseIfGone();
    return this.#reply(this.#driver.sendCommand([...command]));
  }

  /** The same, with values as buffers. */
  async sendForBuffers(command: Command): Promise<unknown> {
    this.#refuseIfGone();
    return this.#reply(this.#driver.sendCommand([...command], asBuffers));
  }

  /** Listens to a channel over the same connection. */
  async subscribe(channel: string, listener: (text: string) => void): Promise<void> {
    this.#refuseIfGone();
    await this.#reply(this.#driver.subscribe(channel, listener));
  }

  /** Closes the connection at once, in any state; pending commands are rejected. */
  destroy(): void {
    this.#state = 'gone';
    this.#driver.destroy();
    this.#abort.abort();
  }

  get #gone(): boolean {
    return this.#state === 'gone';
  }

  /** After its end, the driver accepts commands and never completes them. */
  #refuseIfGone(): void {
    if (this.#gone) throw new Error('the connection was closed');
  }

  async #reply<T>(reply: Promise<T>): Promise<T> {
    try {
      return await reply;
    } catch (error) {
      throw error instanceof ErrorReply ? new RedisRefused(this.#said(error)) : error;
    }
  }

  #end(reason: string): void {
    const wasConnected = this.#state === 'connected';
    // The driver keeps each client in a register until `destroy` is called.
    this.destroy();
    if (wasConnected) this.#lost(`${this.#place}: ${reason}`);
  }

  /** A short description of an error. A server repeats the arguments of an unknown command. */
  #said(error: unknown): string {
    if (!(error instanceof Error)) return 'unknown failure';
    const { code } = error as NodeJS.ErrnoException;
    const text = error instanceof ErrorReply || code === undefined ? error.message : code;
    const [told = text] = text.split(', with args beginning with');
    return this.#secret === null ? told : told.replaceAll(this.#secret, '***');
  }
}
