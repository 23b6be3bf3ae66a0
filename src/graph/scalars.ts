import { BadUserInput } from '../errors.ts';
import { parseDay } from '../upstream/decode/fields.ts';
import { normalTimestamp } from '../upstream/decode/timestamp.ts';
import { builder, type UploadedFile } from './builder.ts';

builder.scalarType('DateTime', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  description:
    'A date and time as defined by RFC 3339 (`date-time`), e.g. `2026-01-31T09:30:00Z`. Output is in UTC. Input can have any offset, but must have one; fractions of a second are truncated.',
  serialize: (value) => value,
  parseValue: (value) => {
    const moment =
      typeof value === 'string' && zoned.test(value) ? normalTimestamp(value, 'UTC') : null;
    if (moment === null) {
      throw new BadUserInput(
        'Must be a date and time with an offset, e.g. "2026-01-31T09:30:00Z".',
      );
    }
    return moment;
  },
});

builder.scalarType('Date', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  description: 'A date without a time zone, `YYYY-MM-DD`, as defined by RFC 3339 (`full-date`).',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === 'string' && value.length === 10 && parseDay(value) === value) return value;
    throw new BadUserInput('Must be a date, e.g. "2026-01-31".');
  },
});

builder.scalarType('JSONObject', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259#section-4',
  description: 'A JSON object. A JSON value that is not an object is rejected.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (isJsonObject(value)) return value;
    throw new BadUserInput('Must be a JSON object, e.g. {"ssid": "Guests"}.');
  },
});

builder.scalarType('Upload', {
  specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  description:
    'A file in a request that follows the GraphQL multipart request specification. Send large files to `PUT /files/:filename`.',
  serialize: () => {
    throw new TypeError('Upload is an input type');
  },
  parseValue: (value) => {
    if (isUploadedFile(value)) return value;
    throw new BadUserInput(
      'Must be a file: set the variable to null, and send the file as a part of a multipart/form-data request whose `map` contains the path of the variable.',
    );
  },
});

/** Date and time, at least to the minute, and the offset, without which the time is ambiguous. */
const zoned =
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/i;

function isJsonObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // A literal of the document has no prototype; an upload, or a date, has one of its own.
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Checks the shape and not the class, because runtimes and parsers have separate `File` classes. */
function isUploadedFile(value: unknown): value is UploadedFile {
  if (typeof value !== 'object' || value === null) return false;
  if (!('name' in value && 'size' in value && 'arrayBuffer' in value)) return false;
  const { name, size, arrayBuffer } = value;
  return typeof name === 'string' && typeof size === 'number' && typeof arrayBuffer === 'function';
}
