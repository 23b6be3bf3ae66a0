import { printGraph } from '../graph/directives/print-graph.ts';
import { schema } from '../schema.ts';

/** The command behind `npm run schema`: the graph as SDL, the same on every machine. */
process.stdout.write(printGraph(schema));
