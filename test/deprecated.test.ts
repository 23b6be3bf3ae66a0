import { readFileSync } from 'node:fs';
import { buildSchema, type DocumentNode, NoDeprecatedCustomRule, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { filesBelow } from './support/files-below.ts';
import { graphiqlExamples } from './support/graphiql-examples.ts';
import { pages } from './support/readme.ts';

const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));

/** What a reader can copy. */
const paths = [
  ...pages.map(({ path }) => path),
  ...filesBelow('client', /^client.[^/\\]+\.(md|ts)$/),
  ...filesBelow('examples/dashboard', /\.(md|ts|tsx|graphql)$/),
  ...filesBelow('scripts', /\.js$/),
  ...filesBelow('pages', /\.tsx?$/),
];

/** Everything in a text that is an operation or a fragment: in blocks of code, templates, strings, JSON and addresses. */
function documentsIn(text: string): DocumentNode[] {
  const plain = text.replaceAll(/\$\{[^}]*\}/g, '');
  const pieces = [
    ...plain.matchAll(/^```(?:graphql|gql)\b.*\n([^]*?)^```$/gm),
    ...plain.matchAll(/`([^`]*\{[^`]*)`/g),
    ...plain.matchAll(/'([^'\n]*\{[^'\n]*)'/g),
    ...plain.matchAll(/"((?:[^"\\\n]|\\.)*\{(?:[^"\\\n]|\\.)*)"/g),
    ...plain.matchAll(/query=(\{[^\s'"`]*)/g),
  ].map(([, piece = '']) => piece);
  return pieces
    .flatMap((piece) => [piece, piece.replaceAll(/\\(["n])/g, (_, of) => (of === 'n' ? '\n' : of))])
    .flatMap((piece) => {
      try {
        return [parse(piece)];
      } catch {
        return [];
      }
    });
}

/** The deprecated elements that a document names. */
const deprecatedIn = (document: DocumentNode): string[] =>
  validate(schema, document, [NoDeprecatedCustomRule]).map(({ message }) => message);

describe('a deprecated element of the graph', () => {
  it('is recognized wherever it stands', () => {
    for (const text of [
      '```graphql\n{ account { expires } }\n```',
      'const Q = graphql(`query Q { account { ...F expires } }`);',
      "ask('{ account { expires } }')",
      String.raw`curl -d '{"query":"query Q { qrCodes { nodes { name(a: \"x\") date } } }"}'`,
      'graphql?query={account{expires}}',
    ]) {
      expect(documentsIn(text).flatMap(deprecatedIn), text).not.toEqual([]);
    }
  });

  it.each(paths)('is not used in %s', (path) => {
    expect(documentsIn(readFileSync(path, 'utf8')).flatMap(deprecatedIn)).toEqual([]);
  });

  it('is looked for in many operations', () => {
    const found = paths.flatMap((path) => documentsIn(readFileSync(path, 'utf8')));
    expect(found.length).toBeGreaterThan(100);
  });

  it.each(graphiqlExamples)('is not used in a tab of GraphiQL: %s', (query) => {
    expect([parse(query), ...documentsIn(query)].flatMap(deprecatedIn)).toEqual([]);
  });
});
