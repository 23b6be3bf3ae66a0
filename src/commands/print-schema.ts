import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from '../schema.ts';

/** The command behind `npm run schema`: the graph as SDL, the same on every machine. */
process.stdout.write(`${printSchema(lexicographicSortSchema(schema))}\n`);
