import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createScrub } from '../../src/observe/log/scrub.ts';

const scrub = createScrub(['k3y/with+signs', 'abc']);

describe('a text that goes into the log', () => {
  it('removes a secret as soon as it is added', () => {
    const secrets = ['the-first-key'];
    const growing = createScrub(secrets);
    secrets.push('another-key');
    expect(growing('the-first-key another-key')).toBe('[secret] [secret]');
  });

  it('loses every known secret, also percent-encoded', () => {
    expect(scrub('used k3y/with+signs and k3y%2Fwith%2Bsigns')).toBe('used [secret] and [secret]');
  });

  it('keeps words that only look like a very short secret', () => {
    expect(scrub('the abc of it')).toBe('the abc of it');
    expect(createScrub(['six5ix', 'five5'])('six5ix five5')).toBe('[secret] five5');
  });

  it.each([
    ['https://user:pass@host/path', 'https://host/path'],
    ['redis://:p@ss@host:6379', 'redis://host:6379'],
    ['connect https://host/api?api_key=1 failed', 'connect https://host/api failed'],
    ['https://host/#token', 'https://host/'],
    ['Authorization: Bearer abc.def-ghi', 'Authorization: Bearer [secret]'],
    ['authorization: basic dXNlcjpwYXNz==, then', 'authorization: basic [secret], then'],
    ['{"api_key":"x1y2"}', '{"api_key":"[secret]"}'],
    ['x-api-key: x1y2', 'x-api-key: [secret]'],
    ['{"apiKey":"x1y2"}', '{"apiKey":"[secret]"}'],
    ['LINKS_API_KEY=x1y2', 'LINKS_API_KEY=[secret]'],
    ['token=x1y2&page=2', 'token=[secret]&page=2'],
    ['access_token: x1y2', 'access_token: [secret]'],
    ['password=x1y2&page=2', 'password=[secret]&page=2'],
    ["{ newPassword: 'x1y2', page: 2 }", "{ newPassword: '[secret]', page: 2 }"],
    ['{"secret":"x1y2","page":2}', '{"secret":"[secret]","page":2}'],
    ['{"client_secret": "x1y2"}', '{"client_secret": "[secret]"}'],
    ['{"password":"rye bread, {fresh}","page":2}', '{"password":"[secret]","page":2}'],
    [String.raw`{"password":"rye\" bread","page":2}`, '{"password":"[secret]","page":2}'],
    [
      String.raw`body {\"password\":\"rye, x1y2\"} was`,
      String.raw`body {\"password\":\"[secret]\"} was`,
    ],
    ['{"password":"cut in the mid', '{"password":"[secret]'],
  ])('turns %j into %j', (text, clean) => {
    expect(scrub(text)).toBe(clean);
  });

  it('loses a credential in whatever spelling it comes', () => {
    const name = fc.constantFrom('api_key', 'API-Key', 'apikey', 'token', 'password', 'secret');
    const before = fc.constantFrom('', 'my_', 'client-', 'MY', '$');
    const value = fc
      .array(fc.constantFrom('x', '1', '.', '/', '-', '$', 'é'), { minLength: 4, maxLength: 40 })
      .map((characters) => `V${characters.join('')}`);
    const spelled = fc.constantFrom<(name: string, value: string) => string>(
      (key, text) => `${key}=${text}`,
      (key, text) => `${key} : ${text}`,
      (key, text) => JSON.stringify({ [key]: `${text} "${text}", ${text}` }),
      (key, text) => JSON.stringify(JSON.stringify({ [key]: `${text}, ${text}` })),
      (key, text) => JSON.stringify({ [key]: text }, null, 2),
      (_, text) => `Basic ${Buffer.from(text).toString('base64')}`,
      (_, text) => `https://${encodeURIComponent(text)}:${encodeURIComponent(text)}@host/`,
      (key, text) => `https://host/a?${key}=${text}`,
    );
    fc.assert(
      fc.property(before, name, value, spelled, (start, key, text, spell) => {
        const clean = scrub(`failed: ${spell(start + key, text)}`);
        for (const told of [text, encodeURIComponent(text), Buffer.from(text).toString('base64')]) {
          expect(clean).not.toContain(told);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is cut before it fills the disk', () => {
    expect(scrub('x'.repeat(1_000_000)).length).toBeLessThan(10_000);
  });

  it('is never cut within a secret', () => {
    for (let at = 7980; at <= 8000; at += 1) {
      const clean = scrub(`${'-'.repeat(at)}k3y/with+signs and more`);
      expect(clean.replaceAll('-', '')).toMatch(/^(\[secret\].*)?$/);
    }
  });
});
