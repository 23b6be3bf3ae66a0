import { ConfigError } from '../config/config.ts';
import { ListenError } from '../http/socket/listen.ts';
import { CommandError, exitCode, UsageError } from './faults.ts';

/** What a process that fails says, and the code that it ends with. */
interface Failure {
  readonly text: string;
  readonly code: number;
}

/** A sentence for a failure that a person can fix; the stack for a bug of ours. */
export function describeFault(error: unknown): Failure {
  if (error instanceof UsageError) {
    return { text: `${error.message} Try --help.`, code: exitCode.usage };
  }
  if (error instanceof ConfigError) return { text: error.message, code: exitCode.usage };
  if (error instanceof CommandError) return { text: error.message, code: error.exitCode };
  if (error instanceof ListenError) return { text: error.message, code: exitCode.fault };
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { text, code: exitCode.fault };
}
