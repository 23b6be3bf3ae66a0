import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { buildSchema } from 'graphql';
import { type Role, roles } from '../../../src/auth/viewer.ts';
import { anyQuery } from '../any-query.ts';
import { type Asked, callers, type Mode } from './scene.ts';
import { anySender, type Sender } from './senders.ts';

/** What happens one after the other, to a gateway whose callers are known in this way. */
export interface Play {
  readonly mode: Mode;
  readonly operations: readonly Asked[];
  readonly steps: readonly Step[];
}

/** Several ask for the same at one moment, or something changes. */
type Step =
  | { readonly kind: 'ask'; readonly operation: number; readonly senders: readonly Sender[] }
  | Change;

type Change =
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'elsewhere'; readonly name: string }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'role'; readonly caller: 'viewer' | 'editor'; readonly role: Role };

const campaign = 'query C($id: ID!) { campaign(id: $id) { name public } account { username } }';
const items =
  '{ channels(first: 12) { nodes { id name items(first: 5) { totalCount nodes { id ... on ChannelEntry { title link } } } } } }';

/** Reads of every kind that an answer can depend on, short and long ones, one that changes by itself, and some that are refused. */
const operations: readonly Asked[] = [
  { query: '{ account { username email } }' },
  {
    query:
      '{ campaigns(first: 3) { nodes { name } totalCount } channels(first: 2) { nodes { name } } }',
  },
  { query: items },
  { query: campaign, variables: { id: '1' } },
  { query: campaign, variables: { id: '2' } },
  { query: campaign, variables: { id: '999999' } },
  { query: '{ account { username } rateLimit { remaining used cost } }' },
  { query: '{ plans { name } }' },
  { query: '{ campaigns(first: 40) { nodes { name nothing } } }' },
  { query: `${'{ account '.repeat(20)}{ email }${' }'.repeat(20)}` },
];

const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
const asked = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...operations), { minLength: 2, maxLength: 3 }),
    fc.array(anyQuery(schema), { maxLength: 1 }),
  )
  .map(([usual, any]): readonly Asked[] => [
    ...usual,
    ...any.flatMap(({ query, variables }) =>
      variables.map((values) => ({ query, variables: values })),
    ),
  ]);

const letters = fc.stringMatching(/^[a-z]{1,8}$/);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('rename' as const), name: letters }),
  fc.record({ kind: fc.constant('elsewhere' as const), name: letters }),
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1, 900, 1001, 20_000, 48_001, 61_000, 130_000),
  }),
  fc.record({
    kind: fc.constant('role' as const),
    caller: fc.constantFrom('viewer' as const, 'editor' as const),
    role: fc.constantFrom(...roles),
  }),
);

/** A few operations and callers, so that the same is asked often between two changes. */
export const anyPlay: fc.Arbitrary<Play> = fc
  .record({
    mode: fc.constantFrom('none' as const, 'token' as const, 'jwt' as const),
    operations: asked,
    asking: fc.shuffledSubarray([...callers], { minLength: 2, maxLength: 3 }),
  })
  .chain(({ mode, operations: some, asking }) => {
    const ask = fc.record({
      kind: fc.constant('ask' as const),
      operation: fc.nat({ max: some.length - 1 }),
      senders: fc.array(anySender(asking), { minLength: 2, maxLength: 4 }),
    });
    const step = fc.oneof({ weight: 3, arbitrary: ask }, { weight: 1, arbitrary: change });
    return fc.record({
      mode: fc.constant(mode),
      operations: fc.constant(some),
      steps: fc.array<Step>(step, { minLength: 6, maxLength: 14 }),
    });
  });
