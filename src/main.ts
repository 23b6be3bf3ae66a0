import { describeConfig } from './config/check-config.ts';
import { type Config, ConfigError, loadConfig } from './config/config.ts';
import { settings } from './config/settings.ts';
import { createGateway, type Gateway } from './gateway.ts';
import { ListenError } from './http/socket/listen.ts';
import type { LogStream } from './observe/log/logger.ts';
import { readableLines } from './observe/log/readable-lines.ts';
import { type StandardOutput, standardOutput } from './observe/log/standard-output.ts';
import { systemClock } from './scheduling/clock.ts';
import { setV8Flags } from './start/v8-flags.ts';
import { warmUp } from './start/warm-up.ts';

/** How the process ended. `0` after a clean stop. */
const exitCode = { fault: 1, usage: 2 } as const;

/**
 * Under `npm start`, Ctrl-C reaches this process twice: from the terminal, and passed on by npm. A
 * signal within this time of the first counts as the same one, in milliseconds.
 */
const sameSignalMs = 500;

/** How much longer than it may take a stop is given before the process is ended, in milliseconds. */
const stopSlackMs = 5000;

/** How long the log may take to be written at the end, in milliseconds: its pipe may have no reader. */
const drainMs = 2000;

/** Who waited for the process to listen is answered before it warms up. In milliseconds. */
const WARM_UP_AFTER_MS = 50;

/** What goes together on a command line. */
const checks = new Set(['--check-config', '--probe']);

const help = `Serves a GraphQL graph over a link-management API and a marketplace API.

Usage: npm start                with the settings below in the environment
       node dist/main.js        the same, once built
       node dist/main.js --check-config   only says what the settings come to
       node dist/main.js --check-config --probe   also asks each upstream one question, which counts
                                          against its rate limit, connects to Redis if one is
                                          set, and says what is wrong
       node dist/main.js --help

Settings (${settings.length}; a secret may also come from the file that NAME_FILE names):
${settings.map(({ name, default: value, doc }) => `  ${name}${value === null ? '' : ` = ${value}`}\n      ${doc}`).join('\n')}

Exit codes: 0 after a clean stop, 1 for a fault, 2 for a faulty configuration or command line. A probe
ends with 2 where a setting is to be mended, and with 1 where an upstream or Redis
cannot be asked.
SIGTERM and SIGINT let running requests finish; a second one ends the process at once. A defect is logged as an unexpected
error. One that shows as an exception outside of any promise also stops the process in the same way, with 1.
The log goes to standard output, one JSON object a line, and in words to a terminal. With NODE_ENV=production the report of a
start is one of them, unless a person watches.
`;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(help);
    return;
  }
  if (flags.includes('--check-config') && flags.every((flag) => checks.has(flag))) {
    const config = loadConfig(process.env);
    process.stdout.write(`${describeConfig(config, process.env).join('\n')}\n`);
    if (flags.includes('--probe')) await runProbe(config);
    return;
  }
  if (flags.length > 0) {
    fail(`Unknown argument ${flags.join(' ')}. Try --help.`, exitCode.usage);
    return;
  }
  setV8Flags([...process.execArgv, process.env['NODE_OPTIONS'] ?? '']);
  const config = loadConfig(process.env);
  const output = standardOutput(systemClock);
  const gateway = await createGateway(config, { log: logTo(output) });
  const end = ender(output);
  surviveDefects(gateway, { stopMs: config.shutdownDelayMs + config.shutdownGraceMs, end });
  const readable = process.stdout.isTTY || process.env['NODE_ENV'] !== 'production';
  const say = readable ? (text: string) => output.writeNow(`${text}\n`) : null;
  const stop = stopper(gateway, { say, end });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  await gateway.listen();
  if (say) say(gateway.report().join('\n'));
  else gateway.logStart();
  setTimeout(() => {
    warmUp().catch((error: unknown) => gateway.reportDefect(error));
  }, WARM_UP_AFTER_MS);
}

/** How the log is written: as JSON to programs, and in words to a person at a terminal. */
function logTo(output: StandardOutput): LogStream {
  if (!process.stdout.isTTY) return output;
  // As https://no-color.org has it.
  return readableLines(output, { color: !process.env['NO_COLOR'] });
}

/** Says what the upstreams make of a configuration, and ends the process as its faults deserve. */
async function runProbe(config: Config): Promise<void> {
  const { probe } = await import('./commands/probe.ts');
  const { lines, wrong } = await probe(config);
  process.stdout.write(`\n${lines.join('\n')}\n`);
  if (wrong !== 'nothing') {
    process.exitCode = wrong === 'configuration' ? exitCode.usage : exitCode.fault;
  }
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
  gateway: Gateway,
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
    if (say) say(`${signal}: finishing what runs`);
    else gateway.logStop(signal);
    gateway.close().then(
      () => end(0),
      (error: unknown) => {
        fail(describe(error), exitCode.fault);
        end(exitCode.fault);
      },
    );
  };
}

/**
 * Logs the defects that no code of ours has caught. A promise that was rejected without a handler has
 * unwound through every `finally` on its way, so all that others use is in order, and the process goes on. An
 * exception from a callback of the event loop can have left anything half done, a queue, a slot, a connection: the
 * process lets running requests finish, then ends for its supervisor to restart it; at a second exception, or
 * `stopMs` and a while after the first, it ends at once.
 */
function surviveDefects(
  gateway: Gateway,
  { end, stopMs }: { readonly end: End; readonly stopMs: number },
): void {
  process.on('unhandledRejection', (reason) => gateway.reportDefect(reason));
  let stopping = false;
  process.on('uncaughtException', (thrown) => {
    gateway.reportDefect(thrown);
    const exit = (): never => process.exit(exitCode.fault);
    if (stopping) exit();
    stopping = true;
    setTimeout(exit, stopMs + stopSlackMs).unref();
    const fault = (): void => end(exitCode.fault);
    gateway.close().then(fault, fault);
  });
}

function fail(message: string, code: number): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}

/** One sentence for a fault that the operator can fix; the stack for a defect of ours. */
function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof ListenError) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  fail(describe(error), error instanceof ConfigError ? exitCode.usage : exitCode.fault);
  // Sockets opened before the fault must not keep the process alive.
  process.exit();
});
