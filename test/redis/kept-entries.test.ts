import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEntry, encodeEntry, type StoredEntry } from '../../src/storage/stored-entry.ts';

const entry: StoredEntry = {
  storedAt: 1_700_000_000_123,
  epoch: '01234567.1700000000000',
  asOf: 12,
  value: { rows: [{ id: 1, name: 'Ada', at: null }], total: 1 },
  bytes: 230,
};

/** The members of an entry as they are written, with some of them replaced. */
function written(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...(JSON.parse(encodeEntry(entry)) as object), ...members });
}

describe('an entry in Redis', () => {
  it('is read as it was written', () => {
    expect(decodeEntry(encodeEntry(entry))).toEqual(entry);
    expect(decodeEntry(written({}))).toEqual(entry);
  });

  it('is read as it was written, whatever it says', () => {
    const entries = fc.record({
      storedAt: fc.double({ noNaN: true, noDefaultInfinity: true }).map((at) => at + 0),
      epoch: fc.string({ minLength: 1 }),
      asOf: fc.maxSafeNat(),
      value: fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value))),
      bytes: fc.maxSafeNat(),
    });
    fc.assert(
      fc.property(entries, (each) => {
        expect(decodeEntry(encodeEntry(each))).toEqual(each);
      }),
    );
  });

  it.each([null, false, 0, '', []])('can have the value %j', (value) => {
    expect(decodeEntry(encodeEntry({ ...entry, value }))).toEqual({ ...entry, value });
  });

  it.each(['storedAt', 'epoch', 'asOf', 'bytes', 'value', 'format'])(
    'is none without %s',
    (member) => {
      expect(decodeEntry(written({ [member]: undefined }))).toBeNull();
    },
  );

  it.each([
    { storedAt: '1' },
    { storedAt: null },
    { epoch: '' },
    { epoch: 7 },
    { asOf: -1 },
    { asOf: 1.5 },
    { asOf: '3' },
    { bytes: -1 },
    { bytes: null },
    { format: 0 },
    { format: 2 },
    { format: '1' },
  ])('is none with %j', (members) => {
    expect(decodeEntry(written(members))).toBeNull();
  });

  it('is none with numbers that JSON cannot say', () => {
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(decodeEntry(encodeEntry({ ...entry, storedAt: wrong }))).toBeNull();
      expect(decodeEntry(encodeEntry({ ...entry, bytes: wrong }))).toBeNull();
    }
    expect(decodeEntry(encodeEntry(entry).replace(/"storedAt":\d+/, '"storedAt":1e999'))).toBe(
      null,
    );
  });

  it('is none in a text that says something else, or that is no JSON', () => {
    for (const text of ['', '{', 'null', '7', '"entry"', '[]', '[1]', '{}', 'undefined']) {
      expect(decodeEntry(text)).toBeNull();
    }
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        expect(decodeEntry(text)).toBeNull();
      }),
    );
  });
});
