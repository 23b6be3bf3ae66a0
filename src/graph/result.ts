import { type InputIssue, type InputIssueCode, InvalidInput, UpstreamRejected } from '../errors.ts';
import { builder } from './builder.ts';
import { enumOf, shown } from './fields.ts';
import { encodeGlobalId } from './ids/global-id.ts';
import { UpstreamNameRef } from './rate-limit.graph.ts';
import { Conflict } from './rows/expectation.ts';

const ErrorRef = builder.interfaceRef<Error>('Error').implement({
  description:
    'A rejected mutation, with a reason that a form can show to the user. All other failures are GraphQL errors.',
  fields: (t) => shown(t, 'String!', { message: 'What is wrong, as a sentence for the user.' }),
});

/** The type of `InputIssue.code`. The description of each code lists its `params`. */
const InputIssueCodeRef = enumOf<InputIssueCode>(
  'InputIssueCode',
  'What is wrong with an input value. The description of each code lists its `params`, if it has any.',
  {
    REQUIRED: 'The value is missing or is not a string.',
    REQUIRED_ANY_OF:
      'At least one of several values is required. `members`: their names, as a list.',
    BLANK: 'The value is blank.',
    EMPTY: 'The value is empty: a file of 0 bytes, or `fields` without a non-empty member.',
    TOO_SHORT: 'The value has too few characters. `min`: the minimum.',
    TOO_LONG: 'The value is too long. `maxBytes`: the maximum, in bytes of UTF-8.',
    TOO_LARGE: 'The file is too large for a mutation. `maxBytes`: the maximum.',
    OUT_OF_RANGE: 'The number is too small. `min`: the minimum.',
    NOT_IN_FUTURE: 'The time is in the past.',
    INVALID_ID: 'The value is not an ID, or is the ID of another type. `type`: the required type.',
    INVALID_CHARACTERS:
      'The value contains a character that is not a letter, a digit or an allowed sign. `signs`: the allowed signs, as one string.',
    INVALID_EMAIL: 'The value is not an email address.',
    INVALID_URL: 'The value is not an http or https URL.',
    INVALID_DOMAIN: 'The value is not an http or https URL without a path.',
    INVALID_COLOR: 'The value is not a color. `format`: `#RRGGBB` or `rgb(r,g,b)`.',
    INVALID_PICTURE:
      'The value is not the path or URL of an image. `formats`: the allowed file extensions, as a list.',
    INVALID_PHONE: 'The value is not a phone number.',
    INVALID_DATE: 'The value is not a date of the form `YYYY-MM-DD`.',
    INVALID_FILENAME:
      'The value is not a file name with an extension, or has characters that file names cannot have.',
    NOT_FOR_TYPE:
      'The data has a member that this type of QR code does not accept. `type`: the type; `members`: the accepted members, as a list.',
    UNKNOWN_OPTION:
      '`PUT /files/:filename` has no such option. `options`: the existing options, as a list.',
    REPEATED_OPTION: 'An option of `PUT /files/:filename` is set more than once.',
    INVALID_OPERATION: 'The text is not an operation that a job can execute.',
  },
);

const InputIssueRef = builder.objectRef<InputIssue>('InputIssue').implement({
  description: 'A validation error of an input.',
  fields: (t) => ({
    ...shown(t, '[String!]!', {
      path: 'Path of the value, starting with the argument, e.g. `["input", "email"]`.',
    }),
    code: t.expose('code', {
      type: InputIssueCodeRef,
      nullable: false,
      description: 'What is wrong, as a code, for clients that show their own messages.',
    }),
    params: t.field({
      type: 'JSONObject',
      nullable: false,
      description:
        'Parameters for the client’s own message, e.g. `{"min": 5}`. The code defines their names; most codes have none.',
      resolve: (issue) => ({ ...issue.params }),
    }),
    message: t.exposeString('message', {
      nullable: false,
      description:
        'What is wrong, in English, for the user. It has no subject: for a blank value, `must not be blank.` is returned.',
    }),
  }),
});

builder.objectType(InvalidInput, {
  name: 'InvalidInput',
  description:
    'The input is invalid. It is validated before any upstream request, so nothing was changed.',
  interfaces: [ErrorRef],
  fields: (t) => ({
    issues: t.field({
      type: [InputIssueRef],
      nullable: false,
      description: 'All validation errors, in the order of the input.',
      resolve: (error) => [...error.issues],
    }),
  }),
});

builder.objectType(UpstreamRejected, {
  name: 'Rejected',
  description: 'The upstream API rejected the change. Nothing was changed.',
  interfaces: [ErrorRef],
  fields: (t) => ({
    message: t.string({
      nullable: false,
      description: 'The reason, in the words of the upstream API.',
      resolve: (error) => error.reason,
    }),
    upstream: t.expose('upstream', {
      type: UpstreamNameRef,
      nullable: false,
      description: 'The API that rejected the change.',
    }),
  }),
});

builder.objectType(Conflict, {
  name: 'Conflict',
  description:
    'The object is not as `expected` says, for example because another user has changed it. Nothing was changed.',
  interfaces: [ErrorRef],
  fields: (t) => ({
    current: t.field({
      type: builder.nodeInterfaceRef(),
      nullable: false,
      description:
        'The object as it is now. Costs no upstream request, except for fields that always cost one.',
      resolve: ({ row, typename }) => ({ ...row, __typename: typename }),
    }),
    differences: t.field({
      type: ['String'],
      nullable: false,
      description: 'The members of `expected` that differ, in the order of the type.',
      resolve: ({ differences }) => [...differences],
    }),
  }),
});

interface Deleted {
  readonly typename: string;
  readonly id: number;
}

/** The type of a row that was deleted. */
export const DeletedRef = builder.objectRef<Deleted>('Deleted').implement({
  description: 'An object that was deleted.',
  fields: (t) => ({
    deletedId: t.id({
      nullable: false,
      description:
        'The `id` of the deleted object. Use it to remove the object from a client’s cache.',
      resolve: ({ typename, id }) => encodeGlobalId(typename, id),
    }),
    databaseId: t.exposeInt('id', {
      nullable: false,
      description: 'The `databaseId` of the deleted object.',
    }),
  }),
});

/** The errors that any mutation can return. */
export const refusals = [InvalidInput, UpstreamRejected];

/**
 * Options of a mutation that returns a union: the changed object of `type`, or the errors that a form can show.
 * `name` is the union's.
 */
export function resultOf<T>(
  type: T,
  name: string,
  errors: readonly (new (...args: never[]) => Error)[] = refusals,
) {
  return {
    type,
    // One field that fails must not hide the results of those before it.
    nullable: true as const,
    semanticNonNull: true,
    errors: {
      types: [...errors],
      directResult: true as const,
      union: {
        name,
        description:
          'The object that was created, changed or deleted, or the reason why nothing was changed.',
      },
    },
  };
}
