import { readOptions } from '../commands/arguments.ts';
import { describeFault } from '../commands/describe-fault.ts';
import { exitCode } from '../commands/faults.ts';
import { loadConfig } from '../config/config.ts';
import type { LogStream } from '../observe/log/logger.ts';
import { readableLines } from '../observe/log/readable-lines.ts';
import { type StandardOutput, standardOutput } from '../observe/log/standard-output.ts';
import { type Member, startMember } from '../owner.ts';
import { systemClock } from '../scheduling/clock.ts';

/**
 * Under `npm start`, Ctrl-C reaches this process twice: from the terminal, and passed on by npm. A
 * signal within this time of the first counts as the same one, in milliseconds.
 */
const sameSignalMs = 500;

/** How much longer than it may take a stop is given before the process is ended, in milliseconds. */
const stopSlackMs = 5000;

/** How long the log may take to be written at the end, in milliseconds: its pipe may have no reader. */
const drainMs = 2000;

/** How often a process under npm looks whether npm's shell is still there, in milliseconds. */
const PARENT_CHECK_MS = 250;

/** The inputs from the environment of a process. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Serves until a signal ends the process, with `env` as its settings.
 * @throws UsageError for any argument, ConfigError for an invalid configuration, ListenError if the port is not
 * available.
 */
export async function serve(args: readonly string[], env: Environment): Promise<void> {
  readOptions(args, {});
  const config = loadConfig(env);
  const output = standardOutput(systemClock);
  const member = await startMember(config, logTo(output, env));
  const end = ender(output);
  surviveDefects(member, { stopMs: config.shutdownGraceMs, end });
  const readable = process.stdout.isTTY || env['NODE_ENV'] !== 'production';
  const say = readable ? (text: string) => output.writeNow(`${text}\n`) : null;
  const stop = stopper(member, { say, end });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  if (env['npm_lifecycle_event'] !== undefined) stopWithParent(stop);
  if (say) say(member.report().join('\n'));
  else member.logStart();
}

/** The format of the log: JSON for programs, text for a terminal. */
function logTo(output: StandardOutput, env: Environment): LogStream {
  if (!process.stdout.isTTY) return output;
  // As https://no-color.org has it.
  return readableLines(output, { color: !env['NO_COLOR'] });
}

/** Ends the process, once the log is written. */
type End = (code: number) => void;

function ender(output: StandardOutput): End {
  return (code) => {
    const exit = (): never => process.exit(code);
    // Also keeps the process alive until then.
    setTimeout(exit, drainMs);
    output.onceDrained(exit);
  };
}

/** `say` writes to a person at the terminal. */
function stopper(
  member: Member,
  { end, say }: { readonly end: End; readonly say: ((text: string) => void) | null },
): (signal: string) => void {
  let stoppedAt: number | undefined;
  return (signal) => {
    if (stoppedAt !== undefined) {
      if (performance.now() - stoppedAt > sameSignalMs) {
        process.exit(exitCode.fault);
      }
      return;
    }
    stoppedAt = performance.now();
    if (say) say(`${signal}: waiting for running operations`);
    else member.logStop('stopping', { signal });
    const stopped = (): void => {
      if (say) say('stopped');
      else member.logStop('stopped');
      end(0);
    };
    member.close().then(stopped, (error: unknown) => {
      process.stderr.write(`${describeFault(error).text}\n`);
      end(exitCode.fault);
    });
  };
}

/**
 * npm starts programs in a shell and forwards SIGTERM to it: some shells end by it and leave the program running.
 * So the program under npm, or npx, takes the end of its parent for the signal, if it has received none itself.
 */
function stopWithParent(stop: (signal: string) => void): void {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop('SIGTERM');
  }, PARENT_CHECK_MS).unref();
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => clearInterval(watch));
}

/**
 * Logs exceptions that no code of ours has caught. A promise that was rejected without a handler has run every
 * `finally` on its way, so shared state is consistent, and the process continues. An exception from a callback of
 * the event loop can have left anything incomplete, a queue, a slot, a connection: the process completes running
 * requests, then ends for its supervisor to restart it; at a second exception, or some time after `stopMs`, it
 * ends at once.
 */
function surviveDefects(
  member: Member,
  { end, stopMs }: { readonly end: End; readonly stopMs: number },
): void {
  process.on('unhandledRejection', (reason) => member.reportDefect(reason));
  let stopping = false;
  process.on('uncaughtException', (thrown) => {
    member.reportDefect(thrown);
    const exit = (): never => process.exit(exitCode.fault);
    if (stopping) exit();
    stopping = true;
    setTimeout(exit, stopMs + stopSlackMs).unref();
    const fault = (): void => end(exitCode.fault);
    member.close().then(fault, fault);
  });
}
