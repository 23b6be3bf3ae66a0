import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { callerKey, copiedName, keptCaller } from '../callers.ts';
import type { EventReader } from '../event-stream.ts';
import type { EventRows } from '../events.ts';
import { EventLog, type LoggedEvent } from './event-log.ts';
import { type Amounts, HOUR, MINUTE_MS, Minutes } from './minutes.ts';
import { failureCodes, fastAmounts, type OperationField, operationAmounts } from './operations.ts';
import { type Recent, recentOperations, recentSpenders } from './recent.ts';

/** Minutes that count as recent. */
const RECENT = 5;

/**
 * What is counted of the requests to one upstream: by lane, those of other processes and users of the key, those that the
 * upstream refused for its rate limit, those that failed, and how many waited at most.
 */
const SEND_FIELDS = [
  'write',
  'interactive',
  'refresh',
  'bulk',
  'foreign',
  'refused',
  'failed',
  'maxQueued',
] as const;
type SendField = (typeof SEND_FIELDS)[number];

/** The requests to one upstream in each minute of an hour: the oldest first, the last one is under way. */
export type SendMinutes = Readonly<Record<SendField, readonly number[]>>;

/** The counts of the last hour. Their names are keys, see `wordsOf`. */
export interface Hour {
  /** By resource and `callerKey`; without a caller they are refreshes. */
  readonly spenders: ReadonlyMap<string, Amounts<'sends'>>;
  /** By type and name of the operation. */
  readonly operations: ReadonlyMap<string, Amounts<OperationField>>;
  /** By upstream and resource. */
  readonly resources: ReadonlyMap<string, ResourceHour>;
  /** Requests of co-tenants. */
  readonly foreign: number;
}

/** The last hour of one resource. */
export type ResourceHour = Amounts<
  | 'reads'
  /** Those of them that cost nothing. */
  | 'hits'
  /** Requests that only its ttl made necessary: refreshes, and misses of expired entries. */
  | 'renewals'
>;

/**
 * The last hour for the console, in minutes: requests, operations, resources and failures, and the latest events. It
 * takes at most 5 MiB, with 100 new names in each minute, and 13 ms to sum up; usually far less of both.
 */
export class History implements EventReader {
  readonly #clock: Clock;
  /** Whether an upstream is reachable, as far as known: read after each response. */
  readonly #isReachable: (upstream: UpstreamName) => boolean;
  /** By upstream. */
  readonly #sends = new Minutes<SendField>();
  /** By resource and caller; without a caller they are refreshes. */
  readonly #spenders = new Minutes<'sends'>();
  /** By upstream and resource. */
  readonly #resources = new Minutes<'reads' | 'hits' | 'renewals'>();
  /** By type and name. */
  readonly #operations = new Minutes<OperationField>();
  /** By code, and by code and caller. */
  readonly #codes = new Minutes<'failed'>();
  /** Number of waiting requests, and since when that is counted. */
  readonly #waiting = { LINKS: { count: 0, since: 0 }, MARKET: { count: 0, since: 0 } };
  readonly #unreachable = new Set<UpstreamName>();
  /** What has happened, for people. */
  readonly log: EventLog;

  constructor(clock: Clock, isReachable: (upstream: UpstreamName) => boolean) {
    this.#clock = clock;
    this.#isReachable = isReachable;
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
  }

  /** Counts a request when it is sent, or reverses the count if it was not sent. */
  #countSent(request: EventRows['requestSent'], times: 1 | -1): void {
    const { callerClass, lane, renews, resource, sentAt, upstream } = request;
    this.#sends.add(sentAt, upstream, { [lane]: times });
    const caller = keptCaller(request.caller, callerClass);
    // A resource has no space in it.
    this.#spenders.add(sentAt, `${resource} ${caller ? callerKey(caller) : ''}`, { sends: times });
    if (renews) this.#resources.add(sentAt, `${upstream} ${resource}`, { renewals: times });
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
      this.#sends.add(at, upstream, { [kind]: 1 });
      const requestId = asker?.requestId ?? null;
      const whom = { caller: keptCaller(caller, callerClass), requestId };
      this.log.add(kind, `${name}: ${method} ${resource}`, cause, whom);
    }
    if (code === 'OK') {
      if (this.#unreachable.delete(upstream)) this.log.add('reachable', `${name} works again.`);
    } else if (!this.#isReachable(upstream)) this.#unreachable.add(upstream);
  }

  reads({ resource, result, times, upstream }: EventRows['reads']): void {
    const hits = result === 'miss' ? 0 : times;
    this.#resources.add(this.#clock.now(), `${upstream} ${resource}`, { reads: times, hits });
  }

  queue({ change, upstream }: EventRows['queue']): void {
    this.#countWaiting(upstream);
    const waiting = this.#waiting[upstream];
    waiting.count = Math.max(0, waiting.count + change);
  }

  /** Counts those that have waited until now in each minute in which they did. */
  #countWaiting(upstream: UpstreamName): void {
    const waiting = this.#waiting[upstream];
    const now = this.#clock.now();
    const from = Math.max(waiting.since, now - HOUR * MINUTE_MS);
    waiting.since = now;
    // A request that got its slot at the same time did not wait.
    if (waiting.count === 0 || from === now) return;
    const maxQueued = waiting.count;
    for (let at = from; at < now; at += MINUTE_MS) this.#sends.add(at, upstream, { maxQueued });
    this.#sends.add(now, upstream, { maxQueued });
  }

  foreign({ count, upstream }: EventRows['foreign']): void {
    this.#sends.add(this.#clock.now(), upstream, { foreign: count });
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

  operationEnded({ at, record }: EventRows['operationEnded']): void {
    const { name, requestId, type } = record;
    const shown = name === null ? null : copiedName(name);
    const codes = failureCodes(record);
    this.#operations.add(at, `${type} ${shown ?? ''}`, operationAmounts(record, codes));
    if (codes.length === 0) return;
    const caller = keptCaller(record.caller, record.callerClass);
    for (const code of codes) {
      this.#codes.add(at, code, { failed: 1 });
      // A code has no space in it.
      this.#codes.add(at, `${code} ${callerKey(caller ?? { caller: '' })}`, { failed: 1 });
    }
    const what = shown ?? `unnamed ${type}`;
    this.log.add('operation-failed', what, codes.join(', '), { caller, requestId });
  }

  answeredInBulk({ maxAgeMs, names }: EventRows['answeredInBulk']): void {
    for (const [name, { runs, saved }] of names) {
      const key = `query ${name === null ? '' : copiedName(name)}`;
      this.#operations.add(this.#clock.now(), key, fastAmounts(runs, saved, maxAgeMs));
    }
  }

  /** An hour of requests to one upstream. */
  sends(upstream: UpstreamName): SendMinutes {
    this.#countWaiting(upstream);
    const minutes = this.#sends.columns(this.#clock.now());
    const columns = SEND_FIELDS.map((field) => [
      field,
      minutes.map((names) => names.get(upstream)?.[field] ?? 0),
    ]);
    return Object.fromEntries(columns) as SendMinutes;
  }

  /** The last five minutes. */
  get recent(): Recent {
    const now = this.#clock.now();
    const codes = this.#codes.sums(now, RECENT);
    const { hits = 0, reads = 0 } = this.#resources.total(now, RECENT);
    return {
      ...recentOperations(this.#operations.total(now, RECENT), codes),
      reads,
      hits,
      ...recentSpenders(this.#spenders.sums(now, RECENT)),
    };
  }

  /** The share of operations that failed in the last five minutes. */
  get failedShare(): number {
    const { ended = 0, failed = 0 } = this.#operations.total(this.#clock.now(), RECENT);
    return ended > 0 ? failed / ended : 0;
  }

  /** The last hour. */
  get hour(): Hour {
    const now = this.#clock.now();
    return {
      spenders: this.#spenders.sums(now),
      operations: this.#operations.sums(now),
      resources: this.#resources.sums(now),
      foreign: this.#sends.total(now).foreign ?? 0,
    };
  }
}
