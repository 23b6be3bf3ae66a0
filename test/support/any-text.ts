import * as fc from 'fast-check';

/** Any code point of Unicode but the halves of a pair, as a string. */
export const anyCodePoint: fc.Arbitrary<string> = fc
  .oneof(fc.nat({ max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));

/**
 * Any text: of all of Unicode, or in ASCII with the names that are traps in JavaScript. The unit `binary` of `fc.string`
 * lists every code point first, which takes a second in each process.
 */
export function anyText(maxLength?: number): fc.Arbitrary<string> {
  const limit = maxLength === undefined ? {} : { maxLength };
  return fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: anyCodePoint, ...limit }) },
    { weight: 1, arbitrary: fc.string(limit) },
  );
}
