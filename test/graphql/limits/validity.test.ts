import * as fc from 'fast-check';
import { parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import {
  type DocumentMeasures,
  measureDocument,
} from '../../../src/graphql/limits/document-measures.ts';
import { examine } from '../../../src/graphql/limits/validity.ts';
import { schema } from '../../../src/schema.ts';
import { anyQuery } from '../../answers/any-query.ts';
import { rounds } from '../../support/rounds.ts';

/** What makes most documents invalid, each by a rule of its own. */
const faults: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text} query Any { __typename }`,
  (text) => `${text} { __typename }`,
  (text) => `${text} subscription S { a: __typename b: __typename }`,
  (text) => `${text} fragment Unused on Query { __typename }`,
  (text) => `${text} fragment F0 on Account { id }`,
  (text) => `${text} fragment Odd on ID { id }`,
  (text) => `${text} fragment Odd on Nothing { id }`,
  (text) => `${text} type Added { id: ID }`,
  (text) => text.replace('{', '{ ...Missing '),
  (text) => text.replace('{', '{ ... on Account { id } '),
  (text) => text.replace('{', '{ ... on Query { __typename } '),
  (text) => text.replace('{', '{ nothing '),
  (text) => text.replace('{', '{ account '),
  (text) => text.replace('{', '{ account { id { id } } '),
  (text) => text.replace('{', '{ account(no: 1) { id } '),
  (text) => text.replace('{', '{ campaign { id } '),
  (text) => text.replace('{', '{ campaigns(first: "1") { totalCount } '),
  (text) => text.replace('{', '{ campaigns(first: 1, first: 1) { totalCount } '),
  (text) => text.replace('{', '{ x: account { id } x: account { username } '),
  (text) => text.replace('{', '{ x: account { id } x: campaigns(first: 1) { totalCount } '),
  (text) => text.replace('{', '{ x: campaign(id: 1) { id } x: campaign(id: 2) { id } '),
  (text) => text.replace('{', '{ x: campaign(id: $undefined) { id } '),
  (text) => text.replace('{', '{ x: campaign(id: $v0) { id } '),
  (text) => text.replace('{', '{ account @nothing { id } '),
  (text) => text.replace('{', '{ account @skip { id } '),
  (text) => text.replace('{', '{ account @skip(if: false) @skip(if: false) { id } '),
  (text) => text.replace('{', '{ account @skip(if: false, if: true) { id } '),
  (text) => text.replace('{', '{ account @include(if: "no") { id } '),
  (text) => text.replace('Any', 'Any($unused: ID) ').replace(') (', ', '),
  (text) => text.replace('Any', 'Any($v: Account) ').replace(') (', ', '),
  (text) => text.replace('Any', 'Any($v0: ID) ').replace(') (', ', '),
  (text) => text.replace('Any', 'Any($v0: Int = "a") ').replace(') (', ', '),
  (text) =>
    `${text} mutation M { createPixel(input: { type: GTM, type: GTM, name: "x", tag: "1" }) { __typename } }`,
  (text) => `${text} mutation M { createPixel(input: { name: 1 }) { __typename } }`,
  (text) =>
    text
      .replace('{', '{ ...A ')
      .concat(' fragment A on Query { ...B } fragment B on Query { id ...A }'),
  (text) =>
    text.replace(
      '{',
      '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } ',
    ),
  (text) => text.replace('{', '{ __type(name: "ID") { name } '),
];

const wide = {
  maxFields: 10_000,
  maxDepth: 100,
  maxAliases: 1000,
  maxDirectives: 1000,
  maxNesting: 100,
};

describe('A document', () => {
  it('is valid if every rule of GraphQL says so', () => {
    const seen = { valid: 0, invalid: new Set<number>() };
    const any = fc.tuple(
      anyQuery(schema),
      fc.uniqueArray(fc.nat({ max: faults.length - 1 }), { minLength: 1, maxLength: 2 }),
    );
    fc.assert(
      fc.property(any, ([{ query }, chosen]) => {
        const text = chosen.reduce((before, each) => faults[each]?.(before) ?? before, query);
        const document = parse(text);
        let measures: DocumentMeasures;
        try {
          measures = measureDocument(document, wide);
        } catch {
          // A fragment within itself is refused before anything is validated.
          return;
        }
        const complaints = validate(schema, document);
        const found = examine(schema, { ...measures, document });
        expect(found !== null).toBe(complaints.length === 0);
        if (complaints.length === 0) seen.valid += 1;
        else if (chosen.length === 1) seen.invalid.add(chosen[0] ?? 0);
      }),
      { numRuns: rounds(2000) },
    );
    expect(seen.valid).toBeGreaterThan(100);
    expect(seen.invalid.size).toBeGreaterThan(25);
  });
});
