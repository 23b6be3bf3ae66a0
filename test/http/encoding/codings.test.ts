import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Coding, Codings, negotiate } from '../../../src/http/encoding/codings.ts';

const all: readonly Coding[] = ['br', 'gzip'];
const CHROMIUM = 'gzip, deflate, br, zstd';

describe('Accept-Encoding', () => {
  it.each([
    [undefined, null, null, false],
    ['', null, null, false],
    [CHROMIUM, 'br', 'gzip', false],
    ['GZIP', 'gzip', 'gzip', false],
    ['x-gzip', 'gzip', 'gzip', false],
    ['br ; q=0.9 , gzip;q=0.9', 'br', 'gzip', false],
    ['br;q=0, gzip;q=0.000', null, null, false],
    ['*', 'br', 'gzip', false],
    ['identity;q=0.6, gzip;q=0.5, br;q=0.7', 'br', null, false],
    ['identity;q=0', null, null, true],
    ['gzip, *;q=0', 'gzip', 'gzip', true],
    ['identity;q=0.5, *;q=0', null, null, false],
    ['br;level=5', 'br', null, false],
    [', ,;q=1,gzip,', 'gzip', 'gzip', false],
  ] as const)('%s', (header, whole, pieces, refusesIdentity) => {
    expect(negotiate(header, all)).toEqual({ whole, pieces, refusesIdentity });
  });

  it('chooses what the RFC says of any header', () => {
    const name = fc.constantFrom('br', 'gzip', 'zstd', 'identity', '*', 'deflate');
    const quality = fc.constantFrom(0, 0.001, 0.3, 0.5, 0.999, 1);
    const ranges = fc.uniqueArray(fc.tuple(name, quality), { selector: ([each]) => each });
    const available = fc.subarray([...all]);
    fc.assert(
      fc.property(ranges, available, (wanted, have) => {
        const header = wanted.map(([each, q]) => `${each};q=${q}`).join(', ');
        const q = new Map<string, number>(wanted);
        const of = (coding: string): number => q.get(coding) ?? q.get('*') ?? 0;
        const { pieces, whole } = negotiate(header, have);
        if (whole !== null) {
          expect(have).toContain(whole);
          expect(of(whole)).toBeGreaterThan(0);
          expect(of(whole)).toBeGreaterThanOrEqual(q.get('identity') ?? 0);
          for (const other of have) expect(of(whole)).toBeGreaterThanOrEqual(of(other));
        } else {
          // Each is refused, or wanted less than none.
          for (const each of have) {
            expect(of(each) === 0 || of(each) < (q.get('identity') ?? 0)).toBe(true);
          }
        }
        if (pieces !== null) expect(of('gzip')).toBeGreaterThan(0);
      }),
    );
  });
});

describe('The codings of a request', () => {
  const headers = { 'accept-encoding': CHROMIUM };

  it.each(['no-transform', 'no-cache, No-Transform', 'max-age=0,no-transform'])(
    'are none where its Cache-Control is "%s"',
    (control) => {
      const codings = new Codings();
      expect(codings.for({ headers }).whole).toBe('br');
      expect(codings.for({ headers: { ...headers, 'cache-control': control } }).whole).toBeNull();
      expect(
        codings.packed({ headers: { ...headers, 'cache-control': control } }, ['br', 'gzip']),
      ).toBeNull();
    },
  );

  it('are none for a header that is longer than any that means something', () => {
    const codings = new Codings();
    const long = { headers: { 'accept-encoding': `br, gzip, ${'x,'.repeat(4000)}` } };
    expect(codings.for(long)).toEqual({ whole: null, pieces: null, refusesIdentity: false });
    expect(codings.packed(long, ['br'])).toBeNull();
  });

  it('are those of this header however many others came before', () => {
    const codings = new Codings();
    for (let n = 0; n < 1000; n += 1) {
      const accepted = n % 2 === 0 ? `gzip;q=0.5, x-${n}` : `br, x-${n}${'x'.repeat(n % 200)}`;
      const { whole } = codings.for({ headers: { 'accept-encoding': accepted } });
      expect(whole).toBe(n % 2 === 0 ? 'gzip' : 'br');
      expect(codings.for({ headers }).whole).toBe('br');
    }
  });
});
