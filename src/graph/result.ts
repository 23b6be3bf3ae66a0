import { type InputIssue, type InputIssueCode, InvalidInput, UpstreamRejected } from '../errors.ts';
import type { Write } from '../upstream/request.ts';
import { builder } from './builder.ts';
import { InputChecks } from './checks.ts';
import { encodeGlobalId } from './ids/global-id.ts';
import { UpstreamNameRef } from './rate-limit.graph.ts';

const ErrorRef = builder.interfaceRef<Error>('Error').implement({
  description: 'A refusal that a form can show. Every other failure is a GraphQL error.',
  fields: (t) => ({
    message: t.exposeString('message', {
      nullable: false,
      description: 'What is wrong, for a person.',
    }),
  }),
});

/** The type of `InputIssue.code`. What `params` holds for a code is part of its description. */
const InputIssueCodeRef = builder.enumType('InputIssueCode', {
  description:
    'What can be wrong with a member of an input. Each says which `params` come with it; where it says nothing, there are none.',
  values: {
    REQUIRED: { description: 'It is missing, or no text.' },
    REQUIRED_ANY_OF: {
      description: 'One of several members has to be given. `members`: their names, as a list.',
    },
    BLANK: { description: 'It holds nothing but blanks.' },
    EMPTY: { description: 'It holds nothing: a file without bytes, or data without a part.' },
    TOO_SHORT: { description: 'It has too few characters. `min`: the fewest.' },
    TOO_LONG: { description: 'Its text is too long. `maxBytes`: the most bytes of UTF-8.' },
    TOO_LARGE: { description: 'The file is too large for a mutation. `maxBytes`: the largest.' },
    OUT_OF_RANGE: { description: 'The number is too small. `min`: the smallest.' },
    NOT_IN_FUTURE: { description: 'The moment has passed.' },
    INVALID_ID: {
      description:
        'It is no id, or one of another type. `type`: the name of the type that is wanted.',
    },
    INVALID_CHARACTERS: {
      description:
        'It may consist of letters, digits and some signs. `signs`: these signs, as one text.',
    },
    INVALID_EMAIL: { description: 'It is no e-mail address.' },
    INVALID_URL: { description: 'It is no URL with http or https.' },
    INVALID_DOMAIN: { description: 'It is not http or https and a host without a path.' },
    INVALID_COLOR: { description: 'It is no color. `format`: `#RRGGBB` or `rgb(r,g,b)`.' },
    INVALID_PICTURE: {
      description: 'It is no path or URL of a picture. `formats`: its extensions, as a list.',
    },
    INVALID_PHONE: { description: 'It is no number that can be dialled.' },
    INVALID_DATE: { description: 'It is no day of the calendar, as `YYYY-MM-DD`.' },
    INVALID_FILENAME: {
      description:
        'It is no bare name of a file with an extension, or has characters that none may.',
    },
    NOT_FOR_TYPE: {
      description:
        'The data is not what a QR code of this type holds. `type`: the type; `members`: what it takes, as a list.',
    },
    UNKNOWN_OPTION: {
      description:
        'There is no such option of `PUT /files/:filename`. `options`: those that there are, as a list.',
    },
    REPEATED_OPTION: {
      description: 'An option of `PUT /files/:filename` is given more than once.',
    },
  } satisfies Record<InputIssueCode, { description: string }>,
});

const InputIssueRef = builder.objectRef<InputIssue>('InputIssue').implement({
  description: 'One fault of an input.',
  fields: (t) => ({
    path: t.field({
      type: ['String'],
      nullable: false,
      description: 'Where it is, from the argument’s name on, e.g. `["input", "email"]`.',
      resolve: (issue) => [...issue.path],
    }),
    code: t.expose('code', {
      type: InputIssueCodeRef,
      nullable: false,
      description: 'What is wrong there, for a form that has words of its own for it.',
    }),
    params: t.field({
      type: 'JSONObject',
      nullable: false,
      description:
        'What those words need beside the code, e.g. `{"min": 5}`; the code says which names there are. Empty for most.',
      resolve: (issue) => ({ ...issue.params }),
    }),
    message: t.exposeString('message', {
      nullable: false,
      description: 'What is wrong there, for a person, in English.',
    }),
  }),
});

builder.objectType(InvalidInput, {
  name: 'InvalidInput',
  description: 'The input cannot be right. Found before any upstream call; nothing was changed.',
  interfaces: [ErrorRef],
  fields: (t) => ({
    issues: t.field({
      type: [InputIssueRef],
      nullable: false,
      description: 'Every fault, in the order of the input.',
      resolve: (error) => [...error.issues],
    }),
  }),
});

builder.objectType(UpstreamRejected, {
  name: 'Rejected',
  description: 'The upstream understood the request and said no; nothing was changed.',
  interfaces: [ErrorRef],
  fields: (t) => ({
    message: t.string({
      nullable: false,
      description: 'Why, in the upstream’s own words.',
      resolve: (error) => error.reason,
    }),
    upstream: t.expose('upstream', {
      type: UpstreamNameRef,
      nullable: false,
      description: 'Which upstream said no.',
    }),
  }),
});

interface Deleted {
  readonly typename: string;
  readonly id: number;
}

const DeletedRef = builder.objectRef<Deleted>('Deleted').implement({
  description: 'What a mutation has deleted.',
  fields: (t) => ({
    deletedId: t.id({
      nullable: false,
      description: 'The global id it had, for a client’s cache to forget it by.',
      resolve: ({ typename, id }) => encodeGlobalId(typename, id),
    }),
    databaseId: t.exposeInt('id', {
      nullable: false,
      description: 'The id it had in the upstream API.',
    }),
  }),
});

/**
 * Options of a mutation that answers with a union: what it changed, of `type`, or the refusals that a form
 * can show. `name` is the union's.
 */
export function resultOf<T>(type: T, name: string) {
  return {
    type,
    nullable: false as const,
    errors: {
      types: [InvalidInput, UpstreamRejected],
      directResult: true as const,
      union: { name, description: 'What was changed, or why it was not.' },
    },
  };
}

/** What `builder.mutationFields` hands to its callback. */
type MutationFields = Parameters<Parameters<typeof builder.mutationFields>[0]>[0];

/** A mutation that deletes a row of a type by its id. Costs 1 upstream call. */
export function deletion(
  t: MutationFields,
  typename: string,
  remove: (id: number) => Write<{ readonly id: number }>,
  { description, result, which }: Readonly<Record<'description' | 'result' | 'which', string>>,
) {
  return t.field({
    ...resultOf(DeletedRef, result),
    description,
    args: { id: t.arg.id({ required: true, description: which }) },
    resolve: async (_root, args, { links }) => {
      const checks = new InputChecks();
      const id = checks.id('id', typename, args.id);
      checks.done();
      await links.write(remove(id));
      return { typename, id };
    },
  });
}
