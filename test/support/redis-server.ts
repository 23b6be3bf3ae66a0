import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { redisServer } from './needs.ts';

/** How a server is started. */
export interface RedisOptions {
  /** Whether it writes down what it holds (`appendfsync everysec`), so that a restart finds it. */
  readonly appendOnly?: boolean;
  /** The password of its only user. */
  readonly password?: string;
  /** Files for TLS, in the place of plain connections; clients need no certificate. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Further arguments, e.g. `['--maxmemory', '4mb']`. */
  readonly args?: readonly string[];
  /** A Sentinel that watches this server by this name, in the place of a Redis. */
  readonly watches?: { readonly name: string; readonly port: number };
}

/** A real Redis in a process of its own, on a port that it keeps over restarts. */
export class RedisServer {
  readonly port: number;
  readonly #options: RedisOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'redis-'));
  #child: ChildProcess | null = null;

  private constructor(port: number, options: RedisOptions) {
    this.port = port;
    this.#options = options;
  }

  /** A server that has not been started. */
  static async create(options: RedisOptions = {}): Promise<RedisServer> {
    return new RedisServer(await freePort(), options);
  }

  /** A server that takes commands. */
  static async run(options: RedisOptions = {}): Promise<RedisServer> {
    const server = await RedisServer.create(options);
    await server.start();
    return server;
  }

  get url(): string {
    const { password, tls } = this.#options;
    const who = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
    return `redis${tls ? 's' : ''}://${who}127.0.0.1:${this.port}`;
  }

  /** Starts it and waits until it takes commands. */
  async start(): Promise<void> {
    const kind = this.#options.watches === undefined ? [] : ['--sentinel'];
    const args = [this.#configuration(), ...kind, ...(this.#options.args ?? [])];
    const child = spawn(redisServer.path, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let output = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => reject(new Error(`redis-server ended:\n${output}`)));
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (/Ready to accept connections|Sentinel ID is/.test(output)) resolve();
      });
      child.stderr.resume();
    });
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  }

  /** Ends it and starts it again; without `appendOnly` it has forgotten everything. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Makes it silent, while its connections stay open. */
  stop(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** Lets it go on, and answer all that has come in. */
  cont(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends it for good. */
  async end(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Sends a command over a connection of its own, e.g. `command('CLIENT', 'KILL', 'TYPE', 'normal')`. */
  async command(...args: readonly string[]): Promise<unknown> {
    const socket = this.#options.tls ? { tls: true as const, rejectUnauthorized: false } : {};
    const client = createClient({ url: this.url, socket, RESP: 3 });
    client.on('error', () => {});
    await client.connect();
    try {
      return await client.sendCommand([...args]);
    } finally {
      client.destroy();
    }
  }

  /** Redis and Sentinel read the same kind of file; Sentinel rewrites its own. */
  #configuration(): string {
    const file = join(this.#folder, 'redis.conf');
    const { appendOnly, password, tls, watches } = this.#options;
    const lines = [
      'bind 127.0.0.1',
      `dir ${this.#folder}`,
      ...(tls
        ? [
            'port 0',
            `tls-port ${this.port}`,
            'tls-auth-clients no',
            `tls-cert-file ${tls.cert}`,
            `tls-key-file ${tls.key}`,
          ]
        : [`port ${this.port}`]),
      ...(password === undefined ? [] : [`requirepass ${password}`]),
      ...(watches === undefined
        ? ['save ""', `appendonly ${appendOnly ? 'yes' : 'no'}`, 'enable-debug-command yes']
        : [`sentinel monitor ${watches.name} 127.0.0.1 ${watches.port} 1`]),
    ];
    writeFileSync(file, lines.join('\n'));
    return file;
  }
}

/** A port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const closed = once(server, 'close');
  server.close();
  await closed;
  return port;
}
