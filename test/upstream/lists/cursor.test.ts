import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Cursor,
  decodeCursor,
  encodeCursor,
  NEIGHBORS,
} from '../../../src/upstream/lists/cursor.ts';
import { anyText } from '../../support/any-text.ts';

const cursors: fc.Arbitrary<Cursor> = fc.record({
  list: fc.constantFrom('0', 'a1b2', '1z141z3'),
  page: fc.integer({ min: 1, max: 999_999_999 }),
  index: fc.nat(999_999_999),
  perPage: fc.integer({ min: 1, max: 999_999_999 }),
  identity: fc.oneof(
    fc.nat().map(String),
    fc.tuple(fc.constantFrom('LINKS', 'BIO', 'QR'), fc.nat()).map((parts) => parts.join(':')),
  ),
});

function code(text: string): unknown {
  try {
    decodeCursor(text, 'after');
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

const encoded = (text: string) => Buffer.from(text).toString('base64url');

describe('cursors', () => {
  test('come back as they went out', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(decodeCursor(encodeCursor(cursor), 'after')).toEqual(cursor);
      }),
    );
  });

  test('come back with the rows around theirs, as many as are kept of them', () => {
    const names = fc.array(fc.oneof(fc.nat().map(String), fc.constant('QR:7')), { minLength: 1 });
    fc.assert(
      fc.property(cursors, names, names, fc.nat(), (place, before, behind, total) => {
        const text = encodeCursor({ ...place, before, behind, total });
        expect(decodeCursor(text, 'after')).toEqual({
          ...place,
          before: before.slice(0, NEIGHBORS.before),
          behind: behind.slice(0, NEIGHBORS.behind),
          total: total > 999_999_999 ? undefined : total,
        });
        expect(encodeURIComponent(text)).toBe(text);
      }),
    );
  });

  test('are bounded and good whatever the identities around theirs are', () => {
    const names = fc.array(anyText(200), { maxLength: 40 });
    fc.assert(
      fc.property(cursors, names, names, (place, before, behind) => {
        const text = encodeCursor({ ...place, before, behind });
        expect(text.length).toBeLessThan(2000);
        expect(decodeCursor(text, 'after')).toMatchObject(place);
      }),
    );
  });

  test('are different for different places', () => {
    fc.assert(
      fc.property(cursors, cursors, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        expect(encodeCursor(a) === encodeCursor(b)).toBe(same);
      }),
    );
  });

  test('can stand in a URL as they are', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        const text = encodeCursor(cursor);
        expect(encodeURIComponent(text)).toBe(text);
      }),
    );
  });

  test.each([
    '',
    '0',
    'null',
    'c1:1:0:100:7',
    encoded(''),
    encoded('0/c1'),
    encoded('c1:1:0:100:7'),
    encoded('/c1:1:0:100:7'),
    encoded('A/c1:1:0:100:7'),
    encoded('12345678901234567/c1:1:0:100:7'),
    encoded('0/c1:1:0:100:'),
    encoded('0/c1:0:0:100:7'),
    encoded('0/c1:1:0:0:7'),
    encoded('0/c1:-1:0:100:7'),
    encoded('0/c1:1:-1:100:7'),
    encoded('0/c1:1.5:0:100:7'),
    encoded('0/c1:1e3:0:100:7'),
    encoded('0/c1:1:0:100'),
    encoded('0/c2:1:0:100:7'),
    encoded('x 0/c1:1:0:100:7'),
    encoded('0/c1:1:0:100:7\n'),
    encoded('0/c1:9999999999:0:100:7'),
    encoded(`0/c1:1:0:100:${'7'.repeat(65)}`),
    encoded('Channel:7'),
    encodeCursor({ list: '0', page: 1, index: 0, perPage: 100, identity: '7' }).slice(0, -6),
  ])('are refused when they are none: %j', (text) => {
    expect(code(text)).toBe('BAD_USER_INPUT');
  });

  test('are refused whatever the garbage, with the argument that holds it', () => {
    fc.assert(
      fc.property(anyText(), fc.boolean(), (text, inside) => {
        expect(code(inside ? encoded(text) : text)).toBe('BAD_USER_INPUT');
      }),
    );
    expect(() => decodeCursor('?', 'before')).toThrow('"before"');
  });
});
