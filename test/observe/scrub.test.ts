import { describe, expect, it } from 'vitest';
import { createScrub } from '../../src/observe/scrub.ts';

const scrub = createScrub(['k3y/with+signs', 'abc']);

describe('a text that goes into the log', () => {
  it('loses every known secret, also percent-encoded', () => {
    expect(scrub('used k3y/with+signs and k3y%2Fwith%2Bsigns')).toBe('used [secret] and [secret]');
  });

  it('keeps words that only look like a very short secret', () => {
    expect(scrub('the abc of it')).toBe('the abc of it');
  });

  it.each([
    ['https://user:pass@host/path', 'https://host/path'],
    ['connect https://host/api?api_key=1 failed', 'connect https://host/api failed'],
    ['https://host/#token', 'https://host/'],
    ['Authorization: Bearer abc.def-ghi', 'Authorization: Bearer [secret]'],
    ['{"api_key":"x1y2"}', '{"api_key":"[secret]"}'],
    ['token=x1y2&page=2', 'token=[secret]&page=2'],
  ])('turns %j into %j', (text, clean) => {
    expect(scrub(text)).toBe(clean);
  });

  it('is cut before it fills the disk', () => {
    expect(scrub('x'.repeat(1_000_000)).length).toBeLessThan(10_000);
  });
});
