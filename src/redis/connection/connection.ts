import type { EventStream } from '../../observe/event-stream.ts';
import { inBackground } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { afterReading } from '../../scheduling/loop-turns.ts';
import { RedisRefused, RedisUnavailable } from '../failures.ts';
import type { Script } from '../lua/scripts.ts';
import { type Address, readAddress } from './address.ts';
import { type Command, RedisClient } from './client.ts';
import type { RedisNames } from './names.ts';
import { deniedTo, PermissionWatch } from './permissions.ts';
import { checkMaster, findMaster } from './sentinel.ts';

/** The events of a connection. Their texts contain no secret. */
export interface ConnectionEvents {
  /** Commands get through, and messages of the channel come in. */
  up(): void;
  /** What was up is lost; or, while there is nothing, another reason why. Not called after `close`. */
  down(reason: string): void;
  /** A message of the channel. */
  message(text: string): void;
  /** Redis has replied with an error message: it has not executed the command. */
  refused(reason: string): void;
  /** The permissions that the user lacks are others than before; empty when it has all. */
  denied(permissions: readonly string[]): void;
}

/** The options of a connection. */
export interface RedisConnectionOptions {
  /** One server, or several Sentinels. */
  readonly urls: readonly string[];
  /** The name that the Sentinels have for the master; `null` with one URL. */
  readonly sentinelName: string | null;
  readonly clock: Clock;
  /** Timeout of a command, in milliseconds: silence for twice that time ends the connection. */
  readonly callMs: number;
  readonly names: RedisNames;
  /** Emits `roundTrip` once for every command that was sent: a script by its name, `read` or `write`. */
  readonly stream: EventStream;
  readonly events: ConnectionEvents;
}

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
const SHORTEST_CONNECT_MS = 1000;

/**
 * The gateway's one connection to Redis, for commands and the channel alike, so that both live and die
 * together. It connects again for ever, and sends each command at most once.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #addresses: readonly Address[];
  readonly #closed = new AbortController();
  readonly #permissions: PermissionWatch;
  /** The connection that is up. */
  #client: RedisClient | null = null;
  /** Commands that were sent over it and have no reply yet, waited for or not. */
  #underWay = 0;
  /** What gives up those that are waited for, and when that is due, on `clock.now()`. */
  readonly #patience = new Map<() => void, number>();
  /** When the latest reply came, or the first command after a time without any was sent, on `clock.now()`. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Cancels the next check of the running commands; `null` if there is none. */
  #cancelLook: (() => void) | null = null;
  #pauseMs = SHORTEST_PAUSE_MS;
  #cancelPause = (): void => {};
  #reason: string | null = null;
  /** The attempts to connect, so that `close` can wait for the last. */
  #attempt: Promise<void> = Promise.resolve();
  #drained = (): void => {};

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#addresses = options.urls.map(readAddress);
    this.#permissions = new PermissionWatch({
      clock: options.clock,
      ask: () => deniedTo((command) => this.#call('permissions', command), options.names),
      changed: (denied) => options.events.denied(denied),
    });
  }

  /** Whether a command would be sent. */
  get isUp(): boolean {
    return this.#client !== null && !this.#closed.signal.aborted;
  }

  /** Begins to connect. Never throws: what goes wrong is reported as `down`, and tried again. */
  start(): void {
    this.#attempt = this.#connect();
  }

  /**
   * Runs a script with the keys of all scripts and these arguments: one round trip, or two if Redis has not loaded
   * it yet; in that case later commands may be executed before it. Rejects with `RedisUnavailable` if there is no
   * reply within `callMs`, and with `RedisRefused` if the reply is an error.
   */
  async run(script: Script, args: readonly string[]): Promise<unknown> {
    const { clock, names } = this.#options;
    const since = clock.now();
    const rest = [String(names.keys.length), ...names.keys, ...args];
    try {
      return await this.#call(script.name, ['EVALSHA', script.sha1, ...rest], since);
    } catch (error) {
      if (!(error instanceof RedisRefused && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.#call(script.name, ['EVAL', script.lua, ...rest], clock.now(), since);
    }
  }

  /** The values of these names, `null` if there is none, in one round trip. Rejects as `run` does. */
  async read(names: readonly string[]): Promise<(Buffer | null)[]> {
    if (names.length === 0) return [];
    return (await this.#call('read', ['MGET', ...names])) as (Buffer | null)[];
  }

  /**
   * Stores a value for some milliseconds; false if it cannot be sent. Sent at once, and executed before later
   * commands; only the event `roundTrip` reports its result.
   */
  write(name: string, value: Buffer, ttlMs: number): boolean {
    if (!this.isUp) return false;
    const ttl = String(Math.max(1, Math.round(ttlMs)));
    this.#call('write', ['SET', name, value, 'PX', ttl]).catch(() => {});
    return true;
  }

  /**
   * Takes no more commands, waits for the replies to those under way, `2 * callMs` at most, and ends the
   * connection. Nothing of it keeps the process alive afterwards.
   */
  async close(): Promise<void> {
    if (this.#underWay > 0 && this.isUp) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
        this.#closed.abort();
      });
    }
    this.#closed.abort();
    this.#permissions.close();
    this.#cancelPause();
    this.#cancelLook?.();
    this.#client?.destroy();
    this.#client = null;
    await this.#attempt;
  }

  async #connect(): Promise<void> {
    const { signal } = this.#closed;
    let client: RedisClient;
    try {
      client = await this.#open();
    } catch (error) {
      this.#failed((error as Error).message);
      return;
    }
    if (signal.aborted) {
      client.destroy();
      return;
    }
    this.#client = client;
    this.#pauseMs = SHORTEST_PAUSE_MS;
    this.#reason = null;
    this.#options.events.up();
  }

  async #open(): Promise<RedisClient> {
    const { clock, callMs, events, names, sentinelName } = this.#options;
    const { signal } = this.#closed;
    const options = {
      clock,
      connectMs: Math.max(SHORTEST_CONNECT_MS, 2 * callMs),
      lost: (reason: string) => this.#drop(reason),
    };
    const [first] = this.#addresses;
    if (first === undefined) throw new Error('no Redis URL');
    const master =
      sentinelName === null
        ? first
        : await findMaster(this.#addresses, sentinelName, options, signal);
    return RedisClient.open(master, options, signal, async (client) => {
      if (sentinelName !== null) await checkMaster(client);
      // Reported even if it prevents the connection from being established.
      await this.#permissions.look(() => deniedTo((command) => client.send(command), names));
      await client.subscribe(names.channel, (text) => {
        if (!signal.aborted) events.message(text);
      });
    });
  }

  /** One command over the connection that is up; waited for until `callMs` after `since`. */
  async #call(
    name: string,
    command: Command,
    sentAt = this.#options.clock.now(),
    since = sentAt,
  ): Promise<unknown> {
    const { clock, callMs, stream } = this.#options;
    const client = this.#client;
    if (client === null || this.#closed.signal.aborted) {
      throw new RedisUnavailable(this.#reason ?? 'not connected', false);
    }
    let giveUp = (): void => {};
    const patience = new Promise<never>((_, reject) => {
      giveUp = () => reject(new RedisUnavailable(`no reply within ${callMs} ms`, true));
    });
    this.#patience.set(giveUp, since + callMs);
    this.#underWay += 1;
    if (this.#underWay === 1) this.#heardAt = sentAt;
    if (!this.#cancelLook) this.#lookIn(callMs);
    let ok = false;
    try {
      const value = await Promise.race([this.#reply(client, name, command), patience]);
      ok = true;
      return value;
    } finally {
      this.#patience.delete(giveUp);
      const ms = (ok ? this.#heardAt : clock.now()) - sentAt;
      stream.emit('roundTrip', { command: name, ms, ok });
    }
  }

  /** The reply, whenever it comes. */
  async #reply(client: RedisClient, name: string, command: Command): Promise<unknown> {
    try {
      const reply = await (name === 'read' ? client.sendForBuffers(command) : client.send(command));
      this.#answered(client);
      return reply;
    } catch (error) {
      if (!(error instanceof RedisRefused)) {
        // Whether it had left the process before the connection broke cannot be known.
        throw new RedisUnavailable('the connection was lost', true);
      }
      this.#answered(client);
      // A master that became a replica may keep its connections.
      if (error.message.startsWith('READONLY')) this.#drop(error.message);
      this.#refused(error.message);
      throw error;
    }
  }

  /** Checks the running commands in some milliseconds, with one timer for all of them. */
  #lookIn(ms: number): void {
    const { clock } = this.#options;
    this.#cancelLook = clock.after(ms, () => {
      const now = clock.now();
      afterReading(() => this.#look(now));
    });
  }

  /** Fails the commands whose deadline has passed at a given time: replies that had arrived by then were read. */
  #look(now: number): void {
    const { callMs } = this.#options;
    this.#cancelLook = null;
    let nextAt = this.#heardAt + 2 * callMs;
    for (const [giveUp, dueAt] of this.#patience) {
      if (dueAt <= now) giveUp();
      else nextAt = Math.min(nextAt, dueAt);
    }
    if (this.#underWay === 0) return;
    if (nextAt <= now) this.#drop(`no reply within ${2 * callMs} ms`);
    else this.#lookIn(Math.ceil(nextAt - now));
  }

  /** All refused commands are reported, including those whose reply is not awaited. */
  #refused(reason: string): void {
    if (reason.startsWith('NOSCRIPT')) return;
    this.#options.events.refused(reason);
    if (reason.startsWith('NOPERM')) inBackground(this.#permissions.look());
  }

  /** Any reply, even a late one, shows that the connection is alive. */
  #answered(client: RedisClient): void {
    this.#heardAt = this.#options.clock.now();
    if (client !== this.#client) return;
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#drained();
  }

  /** Ends the connection that is up and makes another. */
  #drop(reason: string): void {
    const client = this.#client;
    if (client === null) return;
    this.#client = null;
    this.#underWay = 0;
    client.destroy();
    this.#drained();
    this.#failed(reason);
  }

  #failed(reason: string): void {
    if (this.#closed.signal.aborted) return;
    const { clock, events } = this.#options;
    this.#cancelPause = clock.after(this.#pauseMs, () => this.start());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    if (reason === this.#reason) return;
    this.#reason = reason;
    events.down(reason);
  }
}
