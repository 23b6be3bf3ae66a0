import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { envOf } from './config.ts';

/** A started program and everything it has said so far. */
export interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Resolves with the first match in the output; rejects when the program ends without one. */
  readonly says: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** How it ended: its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** What Node is given to run the built gateway as `npm start` does. */
export const GATEWAY = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly scripts: { readonly start: string };
  }
).scripts.start
  .split(' ')
  .slice(1);

/** Starts a program with exactly this environment. */
export function start(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    /** Numbers of another user and group, which only root may start a program as. */
    readonly uid?: number | undefined;
    readonly gid?: number | undefined;
  },
): Running {
  const env = envOf(options.env);
  const child = spawn(command, args, { ...options, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const listener of listeners) {
        listener();
      }
    });
  }
  // 'close' and not 'exit': by then everything that was said has been read.
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | null);
  return {
    child,
    ended,
    output: () => output,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(output);
          if (match) {
            listeners.delete(look);
            resolve(match);
          }
        };
        listeners.add(look);
        look();
        child.once('close', () => {
          look();
          reject(new Error(`ended without ${String(pattern)}:\n${output}`));
        });
      }),
  };
}
