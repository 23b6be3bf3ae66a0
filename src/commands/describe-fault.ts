import { ConfigError } from '../config/config.ts';
import { ListenError } from '../http/socket/listen.ts';
import { visibleText } from '../visible-text.ts';
import { CommandError, exitCode, UsageError } from './faults.ts';

/** A sentence for a failure that a person can fix; the stack for a bug of ours. */
export function describeFault(error: unknown): { readonly text: string; readonly code: number } {
  const failure = (text: string, code: number) => ({ text: visibleText(text), code });
  if (error instanceof UsageError) return failure(`${error.message} Try --help.`, exitCode.usage);
  if (error instanceof ConfigError) return failure(error.message, exitCode.usage);
  if (error instanceof CommandError) return failure(error.message, error.exitCode);
  if (error instanceof ListenError) return failure(error.message, exitCode.fault);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return failure(text, exitCode.fault);
}
