import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { callerKey, callerOfKey, keptCaller, type NamedCaller } from '../callers.ts';
import { copiedName, type EventReader } from '../event-stream.ts';
import type { EventRows } from '../events.ts';
import { Counts, CountTable, HOUR } from './counts.ts';
import { EventLog, type LoggedEvent } from './event-log.ts';
import {
  fastAmounts,
  OPERATION_FIELDS,
  type OperationCost,
  operationAmounts,
  operationCost,
} from './operations.ts';
import { type Recent, RecentCounts } from './recent.ts';
import { type SendSteps, Sends } from './sends.ts';

/** Maximum number of separately counted operation names, and of pairs of a caller and a resource. */
const OPERATIONS_COUNTED = 128;
const SPENDERS_COUNTED = 400;
/** Maximum number of classes of callers: more than can be configured. */
const CLASSES_COUNTED = 32;
/** Maximum number of resources: more than exist. */
const RESOURCES_COUNTED = 64;

/** The fields of a resource. */
const READS = 0;
const HITS = 1;
const RENEWALS = 2;

/** Requests of one caller, or of refreshes, for one resource in the last hour. */
interface SpenderHour extends NamedCaller {
  readonly resource: string;
  readonly sends: number;
}

/** The last hour in total. `others`: of names removed for newer ones. */
export interface Hour {
  /** Requests to all upstreams. */
  readonly sends: number;
  /** Requests of co-tenants. */
  readonly foreign: number;
  readonly spenders: { readonly rows: readonly SpenderHour[]; readonly others: number };
  readonly refreshes: readonly SpenderHour[];
  /** Requests by the class of their callers, without refreshes. */
  readonly classes: readonly { readonly callerClass: string; readonly sends: number }[];
  readonly operations: {
    /** `name` is null for all of a type without a name. */
    readonly rows: readonly (OperationCost & {
      readonly type: string;
      readonly name: string | null;
    })[];
    readonly others: OperationCost;
  };
  /** By upstream and resource, as in `LINKS channels`. */
  readonly resources: ReadonlyMap<string, ResourceHour>;
}

/** The last hour of one resource. */
export interface ResourceHour {
  readonly reads: number;
  /** Those of them that cost nothing. */
  readonly hits: number;
  /** Requests that only its ttl made necessary: refreshes, and misses of expired entries. */
  readonly renewals: number;
}

/**
 * The last hour for the console: requests in steps, sums of callers, classes, operations and resources, the failures of
 * five minutes, and the latest events. It always takes less than 1 MiB.
 */
export class History implements EventReader {
  readonly #clock: Clock;
  /** Whether an upstream is reachable, as far as known: read after each response. */
  readonly #isReachable: (upstream: UpstreamName) => boolean;
  /** When the last request left, on `clock.now()`; `null` before the first. */
  #sentAt: number | null = null;
  readonly #sends: Readonly<Record<UpstreamName, Sends>>;
  readonly #operations: CountTable;
  readonly #spenders: CountTable;
  readonly #refreshes: CountTable;
  readonly #classes: CountTable;
  readonly #resources: CountTable;
  readonly #foreign: Counts;
  readonly #recent: RecentCounts;
  readonly #unreachable = new Set<UpstreamName>();
  /** What has happened, for people. */
  readonly log: EventLog;

  constructor(clock: Clock, isReachable: (upstream: UpstreamName) => boolean) {
    this.#clock = clock;
    this.#isReachable = isReachable;
    const now = clock.now();
    this.#sends = { LINKS: new Sends(now), MARKET: new Sends(now) };
    this.#operations = new CountTable(OPERATIONS_COUNTED, OPERATION_FIELDS, HOUR, now);
    this.#spenders = new CountTable(SPENDERS_COUNTED, 1, HOUR, now);
    this.#refreshes = new CountTable(RESOURCES_COUNTED, 1, HOUR, now);
    this.#classes = new CountTable(CLASSES_COUNTED, 1, HOUR, now);
    this.#resources = new CountTable(RESOURCES_COUNTED, RENEWALS + 1, HOUR, now);
    this.#foreign = new Counts(1, HOUR, now);
    this.#recent = new RecentCounts(now);
    this.log = new EventLog(clock);
  }
  listening({ version }: EventRows['listening']): void {
    this.log.add('started', `Version ${version} started.`);
  }

  draining(): void {
    this.log.add('draining', 'The gateway is shutting down.');
  }

  requestSent(request: EventRows['requestSent']): void {
    this.#countSent(request, 1);
    this.#sentAt = request.sentAt;
  }

  /** Counts a request when it is sent, or reverses the count if it was not sent. */
  #countSent(request: EventRows['requestSent'], times: 1 | -1): void {
    const { callerClass, lane, renews, resource, sentAt, upstream } = request;
    this.#sends[upstream].count(sentAt, lane, times);
    const caller = keptCaller(request.caller, callerClass);
    const spenders = caller === null ? this.#refreshes : this.#spenders;
    // A resource has no space in it.
    spenders.count(`${resource} ${caller ? callerKey(caller) : ''}`, sentAt, [[0, times]]);
    if (callerClass !== null) this.#classes.count(copiedName(callerClass), sentAt, [[0, times]]);
    this.#recent.sent(sentAt, caller, times);
    if (renews) this.#resources.count(`${upstream} ${resource}`, sentAt, [[RENEWALS, times]]);
  }

  requestEnded({ at, outcome, request }: EventRows['requestEnded']): void {
    const { code, reason = code } = outcome;
    const { asker, caller, callerClass, method, resource, upstream } = request;
    if (code === 'LATE') {
      this.#countSent(request, -1);
      return;
    }
    const name = upstreamTitle[upstream];
    if (code !== 'OK' && code !== 'CANCELED' && code !== 'UPSTREAM_REJECTED') {
      const [kind, cause] =
        code === 'REFUSED' ? (['refused', 'rate limit'] as const) : (['failed', reason] as const);
      this.#sends[upstream].count(at, kind, 1);
      const requestId = asker?.requestId ?? null;
      const whom = { caller: keptCaller(caller, callerClass), requestId };
      this.log.add(kind, `${name}: ${method} ${resource}`, cause, whom);
    }
    if (code === 'OK') {
      if (this.#unreachable.delete(upstream)) this.log.add('reachable', `${name} works again.`);
    } else if (!this.#isReachable(upstream)) this.#unreachable.add(upstream);
  }

  reads({ resource, result, times, upstream }: EventRows['reads']): void {
    const now = this.#clock.now();
    this.#recent.read(now, result, times);
    this.#resources.count(`${upstream} ${resource}`, now, [
      [READS, times],
      [HITS, result === 'miss' ? 0 : times],
    ]);
  }

  queue({ change, upstream }: EventRows['queue']): void {
    this.#sends[upstream].queue(this.#clock.now(), change);
  }

  foreign({ count, upstream }: EventRows['foreign']): void {
    const now = this.#clock.now();
    this.#sends[upstream].count(now, 'foreign', count);
    this.#foreign.add(now, [[0, count]]);
  }

  paused({ ms, upstream }: EventRows['paused']): void {
    const seconds = Math.max(1, Math.round(ms / 1000));
    this.log.add('paused', `${upstreamTitle[upstream]}: no requests for ${seconds} s.`);
  }

  keyed({ asker, caller, key, mutation, outcome }: EventRows['keyed']): void {
    const requestId = asker?.requestId ?? null;
    const whom = { caller: keptCaller(caller, asker?.callerClass), requestId };
    const tell = (kind: LoggedEvent['kind'], text: string, cause: string): void =>
      this.log.add(kind, text, cause, whom);
    if (outcome === 'reconciled') {
      tell('reconciled', `Reconciled ${mutation}`, 'found after a lost response');
    } else if (outcome === 'unknown') {
      tell('outcome-unknown', `Outcome unknown: ${mutation}`, key ? `key ${key}` : 'no key');
    } else if (outcome === 'reused') {
      tell('key-reused', `Idempotency key reused: ${mutation}`, 'with other arguments');
    }
  }

  keysForgotten(): void {
    const text = 'Idempotency keys were removed before their time, because the store is full.';
    this.log.add('keys-forgotten', text);
  }

  outage({ isOut }: EventRows['outage']): void {
    const text = isOut
      ? 'Redis is unreachable. No upstream requests are sent until it is back.'
      : 'Redis is reachable again.';
    this.log.add('redis', text);
  }

  epoch(): void {
    this.log.add('redis', 'Redis started without data.');
  }

  operationEnded({ at, record }: EventRows['operationEnded']): void {
    const { name, requestId, type } = record;
    const shown = name === null ? null : copiedName(name);
    const caller = keptCaller(record.caller, record.callerClass);
    this.#operations.count(`${type} ${shown ?? ''}`, at, operationAmounts(record));
    const codes = this.#recent.ended(at, record, caller);
    if (codes.length === 0) return;
    const what = shown ?? `unnamed ${type}`;
    this.log.add('operation-failed', what, codes.join(', '), { caller, requestId });
  }

  answeredInBulk({ maxAgeMs, names }: EventRows['answeredInBulk']): void {
    const now = this.#clock.now();
    for (const [name, { runs, saved }] of names) {
      const shown = name === null ? '' : copiedName(name);
      this.#operations.count(`query ${shown}`, now, fastAmounts(runs, saved));
      this.#recent.answered(now, runs, maxAgeMs);
    }
  }

  /** An hour of requests to one upstream. */
  sends(upstream: UpstreamName): SendSteps {
    return this.#sends[upstream].steps(this.#clock);
  }

  /** The last five minutes. */
  get recent(): Recent {
    return this.#recent.at(this.#clock.now());
  }

  /** The share of operations that failed in the last five minutes. */
  get failedShare(): number {
    const { failed, operations } = this.recent;
    return operations > 0 ? failed / operations : 0;
  }

  /** Milliseconds since the last request left; `null` before the first. */
  get sentMsAgo(): number | null {
    return this.#sentAt === null ? null : this.#clock.now() - this.#sentAt;
  }

  /** The last hour. */
  get hour(): Hour {
    const now = this.#clock.now();
    const spenders = {
      rows: this.#spenders.rows(now).map(spenderHour),
      others: this.#spenders.others(now)[0] as number,
    };
    const refreshes = this.#refreshes.rows(now).map(spenderHour);
    const sends = [...spenders.rows, ...refreshes].reduce((sum, row) => sum + row.sends, 0);
    return {
      sends: sends + spenders.others,
      foreign: this.#foreign.sums(now)[0] as number,
      spenders,
      refreshes,
      classes: this.#classes
        .rows(now)
        .map(([callerClass, [sends = 0]]) => ({ callerClass, sends })),
      operations: {
        rows: this.#operations.rows(now).map(([key, sums]) => {
          const [type, name] = twoOf(key);
          return { type, name: name || null, ...operationCost(sums) };
        }),
        others: operationCost(this.#operations.others(now)),
      },
      resources: new Map(
        this.#resources
          .rows(now)
          .map(([key, [reads = 0, hits = 0, renewals = 0]]) => [key, { reads, hits, renewals }]),
      ),
    };
  }
}

function spenderHour([key, sums]: [key: string, sums: number[]]): SpenderHour {
  const [resource, caller] = twoOf(key);
  return { resource, ...callerOfKey(caller), sends: sums[0] as number };
}

/** The two words of a key: the first contains no space. */
function twoOf(key: string): [first: string, rest: string] {
  const end = key.indexOf(' ');
  return [key.slice(0, end), key.slice(end + 1)];
}
