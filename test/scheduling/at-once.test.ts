import { expect, test } from 'vitest';
import { andThen, type Steps, takeAll, takeSteps, until } from '../../src/scheduling/at-once.ts';

function* sum(values: readonly (number | Promise<number>)[]): Steps<number> {
  let total = 0;
  for (const value of values) total += yield* until(value);
  return total;
}

const broken = (): Promise<number> => Promise.reject(new Error('broken'));

test('what is there is there at once, and what is not is waited for', async () => {
  expect(andThen(1, (one) => one + 1)).toBe(2);
  expect(takeSteps(sum([1, 2, 3]))).toBe(6);
  const later = takeSteps(sum([1, Promise.resolve(2), 3, Promise.resolve(4)]));
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe(10);
  expect(await andThen(Promise.resolve(1), (one) => one + 1)).toBe(2);
});

test('steps can catch what they waited for, as behind an await', async () => {
  function* careful(): Steps<string> {
    try {
      yield* until(broken());
      return 'whole';
    } catch (error) {
      return (error as Error).message;
    }
  }
  expect(await takeSteps(careful())).toBe('broken');
  await expect(takeSteps(sum([1, broken()]))).rejects.toThrow('broken');
});

test('side by side all begin, whichever fails at once', async () => {
  const begun: number[] = [];
  function* begin(n: number, value: number | Promise<number>): Steps<number> {
    begun.push(n);
    if (n === 2) throw new Error('at once');
    return yield* until(value);
  }
  expect(takeAll([begin(0, 5), begin(1, 6)])).toEqual([5, 6]);
  const all = takeAll([begin(1, broken()), begin(2, 0), begin(3, 7)]);
  await expect(all).rejects.toThrow();
  expect(begun).toEqual([0, 1, 1, 2, 3]);
});
