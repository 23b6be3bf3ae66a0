import { describe, expect, it } from 'vitest';
import { touches } from '../../../src/links/touches.ts';
import { schema } from '../../../src/schema.ts';

/** Those that send requests. Those of jobs do not: each change is a mutation of its own. */
const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
  .filter(({ description }) => !description?.includes('Costs no upstream request'))
  .map(({ name }) => name);

describe('the table of what each mutation makes wrong', () => {
  it('has every mutation of the graph', () => {
    expect(mutations).not.toEqual([]);
    expect(mutations.filter((name) => !Object.hasOwn(touches, name))).toEqual([]);
  });

  it('has nothing that is no mutation of the graph', () => {
    expect(Object.keys(touches).filter((name) => !mutations.includes(name))).toEqual([]);
  });
});
