import { type CallerClasses, classRules, DEFAULT_CLASS } from '../auth/caller-class.ts';
import { callerOfKey } from '../observe/callers.ts';
import type { Hour } from '../observe/history/history.ts';
import { wordsOf } from '../observe/history/minutes.ts';
import type { ClassQuota } from '../operators/class-quotas.ts';
import type { Client } from '../upstream/client.ts';
import type { ShownClass } from './console-state.ts';

/** The sources of the states of the classes. */
interface ClassParts {
  /** All classes, and those that the operator has configured. */
  readonly classes: CallerClasses;
  readonly configured: CallerClasses;
  readonly clients: readonly Client[];
  /** The limits of the classes now, see `classQuotas`. */
  readonly quotas: readonly ClassQuota[];
}

/**
 * Each configured class, that of agents if it has sent requests in the last hour, and the default, as they are now; none
 * if there is only the default.
 */
export function classStates(parts: ClassParts, { spenders }: Pick<Hour, 'spenders'>): ShownClass[] {
  const { classes, clients, configured, quotas } = parts;
  const sent = [...spenders].flatMap(([key, { sends = 0 }]) => {
    const [, caller] = wordsOf(key);
    const { callerClass = DEFAULT_CLASS } = callerOfKey(caller);
    return caller !== '' && sends > 0 ? [{ callerClass, sends }] : [];
  });
  const sending = new Set(sent.map(({ callerClass }) => callerClass));
  const shown = [...classes.keys()].filter((name) => configured.has(name) || sending.has(name));
  if (shown.length === 0) return [];
  const names = [...new Set([...shown, DEFAULT_CLASS])];
  const sends = new Sums(names);
  const waiting = new Sums(names);
  for (const each of sent) sends.add(each.callerClass, each.sends);
  for (const { budgets } of clients) {
    for (const budget of budgets) {
      if (budget.state.queued === 0) continue;
      for (const each of budget.shown.waitingCallers) waiting.add(each.callerClass, each.count);
    }
  }
  return names.map((name) => ({
    name,
    weight: classRules(classes, name).weight,
    sends: sends.of(name),
    waiting: waiting.of(name),
    quotas: quotas.filter(({ callerClass }) => callerClass === name).map(quotaState),
  }));
}

function quotaState(quota: ClassQuota): ShownClass['quotas'][number] {
  const { limit, upstream, used, waitMs } = quota;
  return { upstream, limit, used, nextInMs: Math.ceil(waitMs) };
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
