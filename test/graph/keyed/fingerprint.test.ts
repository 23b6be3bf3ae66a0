import { isDeepStrictEqual } from 'node:util';
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  jsonValue,
  letrec,
  oneof,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fingerprints } from '../../../src/graph/keyed/fingerprint.ts';
import { rounds } from '../../support/rounds.ts';

const RUNS = rounds(300);
const fingerprints = new Fingerprints({ secret: 'the API key' });

/** The digest of an input of one mutation. */
async function digest(input: unknown, of = fingerprints): Promise<string> {
  return (await of.of('createChannel', input, 'caller')).digest;
}

/** Inputs that are easily confused: few names and values, which have the signs of JSON in them. */
const signs = constantFrom('', 'a', 'b', '"', '\\', ',', '{}', '[]', 'null', '<1 x>');
const { input: alike } = letrec((tie) => ({
  input: oneof(
    { depthSize: 'small' },
    signs,
    constantFrom(null, true, 0, 1, -1),
    array(tie('input'), { maxLength: 3 }),
    dictionary(signs, tie('input'), { maxKeys: 3 }),
  ),
}));

/** The same value with the members of its objects in the opposite order, and some that are undefined. */
function rewritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewritten);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toReversed();
  return {
    ...Object.fromEntries(members.map(([name, each]) => [name, rewritten(each)])),
    'not given': undefined,
  };
}

/** A file as a form has it. */
function file(text: string): object {
  const bytes = new TextEncoder().encode(text);
  return { name: 'a.txt', size: bytes.length, arrayBuffer: async () => bytes.slice().buffer };
}

describe('the fingerprint of an input', () => {
  it('is the same however it is written', async () => {
    const law = asyncProperty(oneof(jsonValue(), alike), async (input) => {
      expect(await digest(rewritten(input))).toBe(await digest(input));
    });
    await assert(law, { numRuns: RUNS });
  });

  it('is another one for any other input', async () => {
    const law = asyncProperty(alike, alike, async (one, other) => {
      const isSame = (await digest(one)) === (await digest(other));
      expect(isSame).toBe(isDeepStrictEqual(rewritten(one), rewritten(other)));
    });
    await assert(law, { numRuns: 3 * RUNS });
  });

  it('depends on the mutation, the contents of files and the credential', async () => {
    const of = [
      await digest({ a: file('one') }),
      await digest({ a: file('two') }),
      await digest({ a: file('on') }),
      await digest({ a: file('') }),
      await digest({ a: { arrayBuffer: 'one' } }),
      await digest({ a: file('one') }, new Fingerprints({ secret: 'another API key' })),
      (await fingerprints.of('updateChannel', { a: file('one') }, 'caller')).digest,
    ];
    expect(new Set(of).size).toBe(of.length);
    expect(await digest({ a: file('one') })).toBe(of[0]);
  });

  it('names its secret without revealing it, the same in each process', () => {
    const again = new Fingerprints({ secret: 'the API key' });
    expect(again.secret).toBe(fingerprints.secret);
    expect(new Fingerprints({ secret: 'the API kez' }).secret).not.toBe(again.secret);
    expect(again.secret).toMatch(/^[\w-]{12}$/);
  });

  it('of a megabyte is that of its parts', async () => {
    const input = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`k${index}`, [`${index}`.repeat(500)]]),
    );
    const large = {
      input: Array.from({ length: 2 }, () => input),
      file: file('x'.repeat(600_000)),
    };
    expect(await digest(rewritten({ ...large }))).toBe(await digest(large));
    const [first, second] = large.input;
    const changed = { ...large, input: [first, { ...second, k499: ['x'] }] };
    expect(await digest(changed)).not.toBe(await digest(large));
  });
});
