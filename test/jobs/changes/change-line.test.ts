import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChangeLine } from '../../../src/jobs/changes/change-line.ts';

const parse = (text: string, ...names: string[]) =>
  parseChangeLine({ text, fault: null }, new Set(names));

describe('a line of changes', () => {
  it('is read as JSON has it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (line) => {
        fc.pre(!JSON.stringify(line).includes('__proto__'));
        const text = JSON.stringify(line);
        expect(parse(text, ...Object.keys(line))).toEqual({ variables: JSON.parse(text) });
      }),
    );
    expect(parse(' {} ')).toEqual({ variables: {} });
    expect(parse('{"a": 1, "a": 2}', 'a')).toEqual({ variables: { a: 2 } });
  });

  it.each([
    ['{"a": ', /not valid JSON/],
    ['{"a": 1} {"a": 2}', /not valid JSON/],
    ['[{"a": 1}]', /not a JSON object/],
    ['null', /not a JSON object/],
    ['"a"', /not a JSON object/],
    ['{"b": 1}', /no variable "\$b"/],
    [`{"${'b'.repeat(1000)}": 1}`, /no variable "\$b{60}"\.$/],
    ['{"a": {"__proto__": {"admin": true}}}', /"__proto__" is not allowed/],
    ['{"a": {"__\\u0070roto__": {"admin": true}}}', /"__proto__" is not allowed/],
    [
      `{"a": "\\u0041", "x": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      /not valid|no variable/,
    ],
  ])('is refused: %.40s', (text, message) => {
    const { error } = parse(text, 'a');
    expect(error).toMatchObject({
      code: 'BAD_USER_INPUT',
      message: expect.stringMatching(message),
    });
    expect(error?.message.length).toBeLessThan(200);
  });

  it.each([
    ['TOO_LONG', /too long/],
    ['NOT_UTF8', /not valid UTF-8/],
  ] as const)('is refused with the fault %s', (fault, message) => {
    const { error } = parseChangeLine({ text: null, fault }, new Set());
    expect(error).toMatchObject({
      code: 'BAD_USER_INPUT',
      message: expect.stringMatching(message),
    });
  });
});
