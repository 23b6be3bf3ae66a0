import { type InputIssue, InvalidInput, UpstreamRejected } from '../errors.ts';
import { builder } from './builder.ts';
import { encodeGlobalId } from './ids/global-id.ts';
import { InputIssueCodeRef } from './issue-code.graph.ts';
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

/** The result of every mutation that deletes a row. */
export const DeletedRef = builder.objectRef<Deleted>('Deleted').implement({
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

/** Options that make a mutation's result a union of what it changed and the refusals a form can show. */
export function resultOf(name: string) {
  return {
    types: [InvalidInput, UpstreamRejected],
    directResult: true as const,
    union: {
      name,
      description: 'What was changed, or why it was not.',
    },
  };
}
