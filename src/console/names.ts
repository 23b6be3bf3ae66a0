import type { Recent } from '../observe/history/recent.ts';
import type { Scrub } from '../observe/log/scrub.ts';
import type { ConsoleState, SpenderState } from './console-state.ts';
import { OTHERS } from './hour-states.ts';

/** The last five minutes with names that are fit to be seen. */
export function recentState(recent: Recent, shown: Scrub): Recent {
  return mapRecent(recent, (caller) => caller && shown(caller));
}

/**
 * The same for viewers who may not know names: callers go by their rank among those who spent most in the last hour, and
 * those who are not among them have no name.
 */
export function withoutNames(state: ConsoleState): ConsoleState {
  const ranks = new Map<string, string>();
  for (const spender of state.spenders) {
    // One that has sent in two classes is one caller.
    const name = spender.name ?? '';
    if (isCaller(spender) && !ranks.has(name)) ranks.set(name, `Caller ${ranks.size + 1}`);
  }
  const rank = (caller: string | null): string | null =>
    caller === null ? null : (ranks.get(caller) ?? 'another caller');
  return {
    ...state,
    named: false,
    waiting: state.waiting.map((each) => ({ ...each, caller: null })),
    waitingCallers: state.waitingCallers.map((each) => ({ ...each, caller: rank(each.caller) })),
    jobs: {
      ...state.jobs,
      rows: state.jobs.rows.map((each) => ({ ...each, caller: rank(each.caller) })),
    },
    recent: mapRecent(state.recent, rank),
    spenders: state.spenders.map((each) =>
      isCaller(each) ? { ...each, name: rank(each.name) } : each,
    ),
    events: state.events.map((each) => ({ ...each, callers: [] })),
  };
}

function mapRecent(recent: Recent, name: (caller: string | null) => string | null): Recent {
  const named = <Row extends { readonly caller: string | null }>(row: Row): Row => ({
    ...row,
    caller: name(row.caller),
  });
  return {
    ...recent,
    codes: recent.codes.map((each) => ({ ...each, callers: each.callers.map(named) })),
    spenders: recent.spenders.map(named),
  };
}

function isCaller({ kind, name }: SpenderState): boolean {
  return kind === 'caller' && name !== OTHERS;
}
