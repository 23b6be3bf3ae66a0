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
  `/** The graph as gql.tada reads it. */\nexport type introspection = ${preprocessIntrospection(introspection)};\n`,
);

const fits = Object.values(schema.getTypeMap())
  .filter(isAbstractType)
  .map((type) => {
    const names = schema.getPossibleTypes(type).map(({ name }) => `'${name}'`);
    return `  ${type.name}: [${names.sort().join(', ')}],\n`;
  });
write(
  'client/possible-types.ts',
  `/** Which types a fragment on an interface or a union fits, as the caches of Apollo Client and urql want it. */\n` +
    `export const possibleTypes = {\n${fits.join('')}};\n`,
);
