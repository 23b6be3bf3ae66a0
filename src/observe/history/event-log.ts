import type { Clock } from '../../scheduling/clock.ts';
import type { NamedCaller } from '../callers.ts';

/** Maximum number of groups of one kind. */
const GROUPS = 12;
/** Maximum number of callers and requests of one group. */
const CALLERS = 5;
const REQUESTS = 10;
/** An event after a longer pause begins a new group, in milliseconds. */
const PAUSE_MS = 300_000;

/** Events of one kind with the same text, without a pause of five minutes between them. */
export interface LoggedEvent {
  readonly kind:
    | 'refused'
    | 'failed'
    | 'operation-failed'
    | 'paused'
    | 'reachable'
    | 'reconciled'
    | 'outcome-unknown'
    | 'key-reused'
    | 'keys-forgotten'
    | 'started'
    | 'draining';
  /** A few words. They name no caller and no key. */
  readonly text: string;
  /** A code, the cause of an upstream failure, or the begin of a key; `null` if the text is sufficient. */
  readonly cause: string | null;
  readonly count: number;
  /** The first and the latest, in milliseconds since 1970. */
  readonly firstAt: number;
  readonly at: number;
  /** The affected callers, the latest first; at most 5. */
  readonly callers: readonly NamedCaller[];
  /** The ids of the affected requests, the latest first; at most 10. */
  readonly requestIds: readonly string[];
}

/** The caller and the request of an event. */
interface Affected {
  readonly caller: NamedCaller | null;
  readonly requestId: string | null;
}

/** The last events, grouped: of each kind the last 12 groups, so that a flood of one kind leaves the others. */
export class EventLog {
  readonly #clock: Clock;
  #groups: readonly LoggedEvent[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds an event to its group, which becomes the latest. */
  add(
    kind: LoggedEvent['kind'],
    text: string,
    cause: string | null = null,
    { caller, requestId }: Affected = { caller: null, requestId: null },
  ): void {
    const at = this.#clock.wall();
    const known = this.#groups.find(
      (group) =>
        group.kind === kind &&
        group.text === text &&
        group.cause === cause &&
        at - group.at < PAUSE_MS,
    );
    const group: LoggedEvent = {
      kind,
      text,
      cause,
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? at,
      at,
      callers: inFront(caller, known?.callers ?? [], CALLERS),
      requestIds: inFront(requestId, known?.requestIds ?? [], REQUESTS),
    };
    let kept = 1;
    this.#groups = [
      group,
      ...this.#groups.filter((each) => {
        if (each === known) return false;
        return each.kind !== kind || (kept += 1) <= GROUPS;
      }),
    ];
  }

  /** The latest first. */
  get latest(): readonly LoggedEvent[] {
    return this.#groups;
  }
}

/** Puts an item before the others, once. */
function inFront<Item>(item: Item | null, items: readonly Item[], most: number): Item[] {
  const key = JSON.stringify(item);
  const others = items.filter((each) => JSON.stringify(each) !== key);
  return [...(item === null ? [] : [item]), ...others].slice(0, most);
}
