import { printGraph } from '../graph/directives/print-graph.ts';
import { schema } from '../schema.ts';
import { readOptions } from './arguments.ts';

/**
 * Writes the graph as SDL, the same on every machine.
 * @throws UsageError for any argument.
 */
export function printSchema(args: readonly string[]): void {
  readOptions(args, {});
  process.stdout.write(printGraph(schema));
}
