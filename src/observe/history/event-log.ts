import type { Clock } from '../../scheduling/clock.ts';
import type { NamedCaller } from '../callers.ts';

/** Maximum number of groups of one kind. */
const GROUPS = 12;
/** Maximum number of callers and requests of one group. */
const CALLERS = 5;
const REQUESTS = 10;
/** An event after a longer pause begins a new group, in milliseconds. */
const PAUSE_MS = 300_000;

/** The kind of a line of the list. */
type LoggedKind =
  | 'refused'
  | 'failed'
  | 'operation-failed'
  | 'paused'
  | 'reachable'
  | 'reconciled'
  | 'outcome-unknown'
  | 'sent-again'
  | 'key-reused'
  | 'keys-forgotten'
  | 'redis'
  | 'started'
  | 'draining';

/** Events of one kind with the same text, without a pause of five minutes between them. */
export interface LoggedEvent {
  readonly kind: LoggedKind;
  /** A few words. They name no caller and no key. */
  readonly text: string;
  /** A code, or the cause of an upstream failure; `null` if the text is sufficient. */
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

const UNAFFECTED: Affected = { caller: null, requestId: null };

/** The last events, grouped: of each kind the last 12 groups, so that a flood of one kind leaves the others. */
export class EventLog {
  readonly #clock: Clock;
  /** By kind; in each the latest last. */
  readonly #groups = new Map<LoggedKind, LoggedEvent[]>();
  /** How many have happened, and of each group when it did last by that count: several share a millisecond. */
  #count = 0;
  readonly #order = new WeakMap<LoggedEvent, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(kind: LoggedKind, text: string, cause: string | null = null, whom = UNAFFECTED): void {
    const groups = this.#groups.get(kind) ?? [];
    this.#groups.set(kind, groups);
    const at = this.#clock.wall();
    const index = groups.findLastIndex((group) => group.text === text && group.cause === cause);
    const known = groups[index];
    const goesOn = known !== undefined && at - known.at < PAUSE_MS;
    if (goesOn) groups.splice(index, 1);
    const before = goesOn ? known : { count: 0, firstAt: at, callers: [], requestIds: [] };
    const group: LoggedEvent = {
      kind,
      text,
      cause,
      count: before.count + 1,
      firstAt: before.firstAt,
      at,
      callers: inFront(whom.caller, before.callers, CALLERS, isSame),
      requestIds: inFront(whom.requestId, before.requestIds, REQUESTS),
    };
    this.#count += 1;
    this.#order.set(group, this.#count);
    groups.push(group);
    if (groups.length > GROUPS) groups.shift();
  }

  /** The latest first. */
  get latest(): readonly LoggedEvent[] {
    const order = (group: LoggedEvent): number => this.#order.get(group) ?? 0;
    return [...this.#groups.values()].flat().sort((a, b) => order(b) - order(a));
  }
}

function inFront<Item>(
  item: Item | null,
  items: readonly Item[],
  most: number,
  isSameItem: (one: Item, other: Item) => boolean = (one, other) => one === other,
): readonly Item[] {
  if (item === null) return items;
  return [item, ...items.filter((each) => !isSameItem(each, item))].slice(0, most);
}

function isSame(one: NamedCaller, other: NamedCaller): boolean {
  return one.caller === other.caller && one.callerClass === other.callerClass;
}
