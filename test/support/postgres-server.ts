import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { postgresServer } from './needs.ts';

const BIN = join(postgresServer.path, '..');

/** A real PostgreSQL in a process of its own, with an empty database. */
export class PostgresServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'postgres-'));
  readonly #port: number;
  readonly #user = userOf();
  #child: ChildProcess | null = null;

  private constructor(port: number) {
    this.#port = port;
  }

  /** A server that takes queries. */
  static async run(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort());
    server.#initialise();
    await server.start();
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  /** Starts it and waits until it takes queries. */
  async start(): Promise<void> {
    const args = ['-D', this.#data, '-p', String(this.#port), '-k', '', '-h', '127.0.0.1'];
    this.#child = spawn(join(BIN, 'postgres'), args, { ...this.#user, stdio: 'ignore' });
    for (;;) {
      const client = new Client({ connectionString: this.url });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.end();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Suspends all its processes, which keep their connections, for a time in milliseconds. */
  async pauseFor(ms: number): Promise<void> {
    const parent = this.#child?.pid ?? Number.NaN;
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8');
    const all = [parent, ...children.trim().split(' ').map(Number)];
    for (const pid of all) process.kill(pid, 'SIGSTOP');
    await pause(ms);
    for (const pid of all.toReversed()) process.kill(pid, 'SIGCONT');
  }

  /** Kills all its processes at once. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#child = null;
    const ended = once(child, 'exit');
    // An immediate shutdown ends the processes of its sessions too.
    child.kill('SIGQUIT');
    await ended;
  }

  /** Kills it and removes its data. */
  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  #initialise(): void {
    const { gid, uid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    chmodSync(this.#folder, 0o700);
    const args = ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
    execFileSync(join(BIN, 'initdb'), args, { ...this.#user, stdio: 'ignore' });
  }
}

/** The server refuses to run as root. */
function userOf(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
