import { BoundedMap } from '../../bounded-map.ts';
import type { FieldPlan, ObjectPlan } from './selection-plan.ts';

/** Planned fields that are held, of all operations together: each takes about 400 bytes. */
const MAX_FIELDS = 4 * 1024;

/** A field at the top of an operation. */
interface RootField {
  readonly plan: FieldPlan;
  /** What its part of the answer goes by; `null` where that depends on variables. */
  readonly part: string | null;
}

/** A whole operation, planned for one set of values of the variables that its selections depend on. */
export interface CompiledPlan {
  readonly type: ObjectPlan['type'];
  readonly fields: readonly RootField[];
  /** How many fields are planned in all, those on every possible type included. */
  readonly size: number;
}

/** The plans of all operations in bounded memory: what was not used for the longest is planned again. */
export type CompiledPlans = BoundedMap<CompiledPlan>;

/** Makes the memory of plans of one gateway. */
export function createCompiledPlans(): CompiledPlans {
  return new BoundedMap({ max: MAX_FIELDS, maxShare: 3 / 4, weigh: (_key, { size }) => size });
}
