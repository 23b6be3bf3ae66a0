// Writes the schema data of the client package from schema.graphql: its types for gql.tada, and the possible types
// of fragments.
import { readFileSync } from 'node:fs';
import { minifyIntrospection, preprocessIntrospection } from '@gql.tada/internal';
import { buildSchema, introspectionFromSchema, isAbstractType } from 'graphql';
import { write } from './output-folder.js';

const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
const introspection = minifyIntrospection(introspectionFromSchema(schema, { descriptions: false }));
write(
  'client/introspection.ts',
  `/** The schema in the form that gql.tada reads. */\nexport type introspection = ${preprocessIntrospection(introspection)};\n`,
);

const fits = Object.values(schema.getTypeMap())
  .filter(isAbstractType)
  .map((type) => {
    const names = schema.getPossibleTypes(type).map(({ name }) => `'${name}'`);
    return `  ${type.name}: [${names.sort().join(', ')}],\n`;
  });
write(
  'client/possible-types.ts',
  `/** The types of each interface and union, in the form that the caches of Apollo Client and urql require. */\n` +
    `export const possibleTypes = {\n${fits.join('')}};\n`,
);
