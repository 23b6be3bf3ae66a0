import { expect } from 'vitest';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import type { World } from '../support/gateway.ts';

/** What a dry run of an operation says, instead of data. */
export async function planOf({ ask }: World, query: string): Promise<OperationPlan> {
  const { data, text } = await ask(query, {}, { 'x-gateway-dry-run': '1' });
  expect(data).toBeNull();
  const { extensions } = JSON.parse(text) as { extensions: { plan: OperationPlan } };
  return extensions.plan;
}
