import { BadUserInput } from '../errors.ts';
import { normalTimestamp, parseDay } from '../upstream/decode/timestamp.ts';
import { builder, type UploadedFile } from './builder.ts';

builder.scalarType('DateTime', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  description:
    'A moment as ISO 8601 in UTC, a `date-time` of RFC 3339, e.g. `2026-01-31T09:30:00Z`. As input, any offset is taken and fractions of a second are cut off; one without a zone is refused.',
  serialize: (value) => value,
  parseValue: (value) => {
    const moment =
      typeof value === 'string' && zoned.test(value) ? normalTimestamp(value, 'UTC') : null;
    if (moment === null) {
      throw new BadUserInput(
        'A moment of the calendar with its zone is wanted, e.g. "2026-01-31T09:30:00Z".',
      );
    }
    return moment;
  },
});

builder.scalarType('Date', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  description: 'A day as `YYYY-MM-DD`, a `full-date` of RFC 3339, without a time zone.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === 'string' && value.length === 10 && parseDay(value) === value) return value;
    throw new BadUserInput('A day of the calendar is wanted, e.g. "2026-01-31".');
  },
});

builder.scalarType('JSONObject', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259#section-4',
  description:
    'A JSON object: names and, for each, any JSON value. No list, no text, no number by itself.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (isJsonObject(value)) return value;
    throw new BadUserInput('A JSON object is wanted, e.g. {"ssid": "Guests"}.');
  },
});

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

/** Date and time to the minute at least, and a zone, without which the moment is ambiguous. */
const zoned =
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/i;

function isJsonObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // A literal in the document comes without a prototype; an upload, or a date, has one of its own.
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Checks the shape and not the class: runtimes and parsers have a `File` of their own. */
function isUploadedFile(value: unknown): value is UploadedFile {
  if (typeof value !== 'object' || value === null) return false;
  if (!('name' in value && 'size' in value && 'arrayBuffer' in value)) return false;
  const { name, size, arrayBuffer } = value;
  return typeof name === 'string' && typeof size === 'number' && typeof arrayBuffer === 'function';
}
