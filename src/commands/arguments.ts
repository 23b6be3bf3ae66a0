import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './faults.ts';

/** The options of a command, by name, as `parseArgs` of Node takes them. */
type Options = NonNullable<ParseArgsConfig['options']>;

type ArgumentValues<T extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: T; strict: true }>
>['values'];

/**
 * Parses the options of a command without other arguments.
 * @throws UsageError for an unknown argument, and for an option without its value.
 */
export function readOptions<T extends Options>(
  args: readonly string[],
  options: T,
): ArgumentValues<T> {
  return readArguments(args, options, 0).values;
}

/**
 * Parses the options of a command, and at most `most` other arguments in any position.
 * @throws UsageError as `readOptions`.
 */
export function readArguments<T extends Options>(
  args: readonly string[],
  options: T,
  most: number,
): { readonly values: ArgumentValues<T>; readonly others: readonly string[] } {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const others = tokens.filter(({ kind }) => kind === 'positional');
  const unknown =
    tokens.find((token) => token.kind === 'option' && !(token.name in options)) ?? others[most];
  if (unknown) throw new UsageError(`Unknown argument ${args[unknown.index]}.`);
  try {
    const { values } = parseArgs({
      args: [...args],
      options,
      strict: true,
      allowPositionals: true,
    });
    return { values, others: others.map(({ index }) => args[index] ?? '') };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`);
  }
}
