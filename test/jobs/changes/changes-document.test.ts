import { getOperationAST, type OperationDefinitionNode, parse, print, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { BadUserInput } from '../../../src/errors.ts';
import { changesDocument } from '../../../src/jobs/changes/changes-document.ts';
import { schema } from '../../../src/schema.ts';

function changesOf(text: string) {
  const document = parse(text);
  expect(validate(schema, document)).toEqual([]);
  return changesDocument(schema, document, getOperationAST(document) as OperationDefinitionNode);
}

describe('the mutation of changes', () => {
  it('is valid with what a job adds, in fragments too', () => {
    const changes = changesOf(`mutation Rename($id: ID!, $name: String!) {
      ...Renamed
      created: createPixel(input: {name: $name, tag: "GTM-1", type: GTM}) { __typename }
    }
    fragment Renamed on Mutation {
      updateChannel(input: {id: $id, name: $name}) { ... on Channel { items { nodes { __typename } } } }
    }`);
    expect(validate(schema, changes.document)).toEqual([]);
    expect(changes.name).toBe('createPixel');
    expect(changes.variables).toEqual(new Set(['id', 'name']));
    expect(changes.refusals).toContain('Rejected');
    // Once for each field of the mutation, and not in its lists.
    expect(print(changes.document).match(/__result: __typename/g)).toHaveLength(2);
    expect(changes.document.definitions).toContain(changes.operation);
  });

  it.each([
    ['{ channels { nodes { id } } }', /need a mutation/],
    ['mutation { __typename }', /no field that changes something/],
    ['mutation($id: ID!) { pauseJob(id: $id) { id } }', /A job cannot do that/],
    [
      'mutation($query: String!) { ...Start } fragment Start on Mutation { startExport(input: {query: $query}) { __typename } }',
      /A job cannot do that/,
    ],
    ['mutation($id: ID!) { __x: deleteChannel(id: $id) { __typename } }', /alias "__x" must not/],
    ['mutation($__id: ID!) { deleteChannel(id: $__id) { __typename } }', /"\$__id" must not begin/],
    [
      'mutation($id: ID!) { deleteChannel(id: $id) @idempotent(key: "k") { __typename } }',
      /directive @idempotent\. A job has a key for each line/,
    ],
    [
      'mutation($input: UploadFileInput!) { uploadFile(input: $input) { __typename } }',
      /has a file/,
    ],
    ['mutation($file: Upload!) { uploadFile(input: {file: $file}) { __typename } }', /has a file/],
  ])('is refused: %s', (text, reason) => {
    let refused: unknown;
    try {
      changesOf(text);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(BadUserInput);
    expect((refused as BadUserInput).message).toMatch(reason);
  });
});
