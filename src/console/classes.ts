import { type CallerClasses, classRules, DEFAULT_CLASS } from '../auth/caller-class.ts';
import type { Hour } from '../observe/history/history.ts';
import type { ClassQuota } from '../operators/class-quotas.ts';
import type { Client } from '../upstream/client.ts';
import type { ClassState } from './console-state.ts';

/** The sources of the states of the classes. */
export interface ClassParts {
  /** All classes, and those that the operator has configured. */
  readonly classes: CallerClasses;
  readonly configured: CallerClasses;
  readonly clients: readonly Client[];
  /** The limits of the classes now, see `classQuotas`. */
  readonly quotas: () => readonly ClassQuota[];
}

/**
 * Each configured class, that of agents if it has sent requests in the last hour, and the default, as they are now; none
 * if there is only the default.
 */
export function classStates(parts: ClassParts, hour: Pick<Hour, 'classes'>): ClassState[] {
  const { classes, clients, configured } = parts;
  const sending = new Set(hour.classes.map(({ callerClass }) => callerClass));
  const shown = [...classes.keys()].filter((name) => configured.has(name) || sending.has(name));
  if (shown.length === 0) return [];
  const names = [...new Set([...shown, DEFAULT_CLASS])];
  const sends = new Sums(names);
  const waiting = new Sums(names);
  for (const each of hour.classes) sends.add(each.callerClass, each.sends);
  for (const { budgets } of clients) {
    for (const budget of budgets) {
      if (budget.state.queued === 0) continue;
      for (const each of budget.waitingCallers) waiting.add(each.callerClass, each.count);
    }
  }
  const quotas = parts.quotas();
  return names.map((name) => ({
    name,
    weight: classRules(classes, name).weight,
    sends: sends.of(name),
    waiting: waiting.of(name),
    quotas: quotas.filter(({ callerClass }) => callerClass === name).map(quotaState),
  }));
}

function quotaState({
  clearMs,
  limit,
  upstream,
  used,
  waitMs,
  window,
}: ClassQuota): ClassState['quotas'][number] {
  return {
    upstream,
    window,
    limit,
    used,
    nextInMs: Math.ceil(waitMs),
    resetInMs: Math.ceil(clearMs),
  };
}

/** Sums by class. A class that is not shown counts as the default. */
class Sums {
  readonly #sums: Map<string, number>;

  constructor(names: readonly string[]) {
    this.#sums = new Map(names.map((name) => [name, 0]));
  }

  add(name: string, count: number): void {
    const known = this.#sums.has(name) ? name : DEFAULT_CLASS;
    this.#sums.set(known, this.of(known) + count);
  }

  of(name: string): number {
    return this.#sums.get(name) ?? 0;
  }
}
