import { readFileSync } from 'node:fs';

/** The operations in the tabs of GraphiQL on a first visit, as its page takes them apart. */
export const graphiqlExamples = readFileSync('pages/graphiql/examples.graphql', 'utf8').split(
  '\n\n',
);
