import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../support/free-port.ts';
import { GATEWAY, type Running, start } from '../../support/process.ts';

/** A server in a process of its own, on a core of its own where the machine lets it. */
export interface Server {
  readonly port: number;
  readonly pid: number;
  /** The memory that it holds, in MB. */
  memoryMb(): number;
  /** The time that its threads have computed for, in ms. */
  cpuMs(): number;
  stop(): Promise<void>;
}

const SERVER_CORE = '0';
const OUR_CORE = '1';
/** What `/proc` counts time in: every Linux says 100 a second. */
const MS_PER_TICK = 10;

/** Keeps this process, which asks, off the core of the servers. */
export function makeRoom(): void {
  pin(OUR_CORE, process.pid);
}

/** The built gateway, on its sandbox unless `env` says otherwise. */
export async function startGateway(env: Readonly<Record<string, string>>): Promise<Server> {
  const PORT = String(await freePort());
  const sandbox = 'LINKS_BASE_URL' in env ? {} : { SANDBOX: 'on' };
  return startFile(GATEWAY, { PORT, STATE_DIR: 'off', ...sandbox, ...env });
}

/**
 * A program of one file, given as text, that listens on `PORT`; on our core if it is not measured. In `folder` it
 * finds its libraries: by default beside the gateway's own files, which are the same.
 */
export async function startText(
  name: string,
  program: string,
  env: Readonly<Record<string, string>>,
  {
    core = 'its own',
    folder = 'dist',
  }: { readonly core?: 'its own' | 'ours'; readonly folder?: string } = {},
): Promise<Server> {
  const file = join(folder, name);
  writeFileSync(file, program);
  const server = await startFile([file], { PORT: String(await freePort()), ...env });
  if (core === 'ours') pin(OUR_CORE, server.pid);
  return {
    ...server,
    async stop() {
      await server.stop();
      rmSync(file);
    },
  };
}

async function startFile(
  args: readonly string[],
  env: Readonly<Record<string, string>> & { readonly PORT: string },
): Promise<Server> {
  const running: Running = start(process.execPath, args, {
    cwd: '.',
    env: { NODE_ENV: 'production', ...env },
  });
  await untilItListens(Number(env.PORT));
  const pid = running.child.pid ?? 0;
  pin(SERVER_CORE, pid);
  return {
    port: Number(env.PORT),
    pid,
    memoryMb: () =>
      Number(/^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000,
    cpuMs: () => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
    },
    async stop() {
      running.child.kill('SIGKILL');
      await running.ended;
    },
  };
}

async function untilItListens(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (connected) return;
    await pause(20);
  }
}

/** All threads of a process on one core; where that cannot be done, on any. */
function pin(core: string, pid: number): void {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' });
  } catch {
    // Not Linux: the figures are ratios anyway.
  }
}
