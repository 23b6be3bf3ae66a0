import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestedRange } from '../../src/http/byte-range.ts';

describe('a requested range of 10 bytes', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=0-9', { start: 0, end: 10 }],
    ['bytes=0-', { start: 0, end: 10 }],
    ['bytes=9-', { start: 9, end: 10 }],
    ['bytes=3-4', { start: 3, end: 5 }],
    ['bytes=3-1000', { start: 3, end: 10 }],
    ['bytes=3-99999999999999999999', { start: 3, end: 10 }],
    ['bytes=-1', { start: 9, end: 10 }],
    ['bytes=-10', { start: 0, end: 10 }],
    ['bytes=-1000', { start: 0, end: 10 }],
    ['BYTES= 3-4 ', { start: 3, end: 5 }],
    ['bytes=10-', 'UNSATISFIABLE'],
    ['bytes=10-20', 'UNSATISFIABLE'],
    ['bytes=99999999999999999999-', 'UNSATISFIABLE'],
    ['bytes=-0', 'UNSATISFIABLE'],
  ])('%s is %j', (header, expected) => {
    expect(requestedRange(header, 10)).toEqual(expected);
  });

  it.each([
    undefined,
    '',
    'bytes=',
    'bytes=-',
    'bytes=4-3',
    'bytes=0-1,3-4',
    'bytes=a-b',
    'bytes=1.5-2',
    'bytes=+1-2',
    'bytes=0-1-2',
    'lines=0-1',
    'bytes 0-1',
  ])('that is %j is the whole', (header) => {
    expect(requestedRange(header, 10)).toBeNull();
  });

  it('of no bytes is never satisfiable', () => {
    for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-1']) {
      expect(requestedRange(header, 0)).toBe('UNSATISFIABLE');
    }
  });

  it('is a part of the file, whatever is requested', () => {
    const anyNumber = fc.option(fc.nat(200), { nil: '' });
    fc.assert(
      fc.property(fc.nat(100), anyNumber, anyNumber, (size, first, last) => {
        const range = requestedRange(`bytes=${first}-${last}`, size);
        if (range === null || range === 'UNSATISFIABLE') return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThan(range.start);
        expect(range.end).toBeLessThanOrEqual(size);
      }),
    );
  });
});
