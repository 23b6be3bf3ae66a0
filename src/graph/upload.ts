import { BadUserInput } from '../errors.ts';
import { builder, type UploadedFile } from './builder.ts';

builder.scalarType('Upload', {
  specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  description:
    'A file: a part of a request by the GraphQL multipart request specification. For small files; larger ones go to `PUT /files/:filename`.',
  serialize: () => {
    throw new TypeError('An upload is never answered');
  },
  parseValue: (value) => {
    if (isUploadedFile(value)) return value;
    throw new BadUserInput(
      'A file is wanted: leave null in the variables, and send it as a part of a multipart/form-data request whose `map` names this place.',
    );
  },
});

/** Checks the shape and not the class: runtimes and parsers have a `File` of their own. */
function isUploadedFile(value: unknown): value is UploadedFile {
  if (typeof value !== 'object' || value === null) return false;
  if (!('name' in value && 'size' in value && 'arrayBuffer' in value)) return false;
  const { name, size, arrayBuffer } = value;
  return typeof name === 'string' && typeof size === 'number' && typeof arrayBuffer === 'function';
}
