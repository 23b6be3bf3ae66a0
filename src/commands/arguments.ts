import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './faults.ts';

/** The options of a command, by name, as `parseArgs` of Node takes them. */
type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * Parses the options of a command without other arguments.
 * @throws UsageError for an unknown argument, and for an option without its value.
 */
export function readOptions<T extends Options>(
  args: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ args: string[]; options: T; strict: true }>>['values'] {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const unknown = tokens.find(
    (token) => token.kind === 'positional' || (token.kind === 'option' && !(token.name in options)),
  );
  if (unknown) throw new UsageError(`Unknown argument ${args[unknown.index]}.`);
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`);
  }
}
