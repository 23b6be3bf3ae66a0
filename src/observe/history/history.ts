import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { copiedName } from '../copied-name.ts';
import type { EventReader } from '../event-stream.ts';
import type { EventRows } from '../events.ts';
import { EventLog } from './event-log.ts';
import { HourCounts, HourTable } from './hour.ts';
import { OperationRow, SpenderRow } from './rows.ts';
import { SendSteps, type StepColumns } from './send-steps.ts';

/** Names of operations, and pairs of a caller and a resource, that are counted on their own. */
const OPERATIONS_COUNTED = 128;
const SPENDERS_COUNTED = 400;
/** Resources are words of ours: more than there are. */
const RESOURCES_COUNTED = 64;

/** Codes of one operation that are shown. */
const CODES_SHOWN = 5;

const READS = 0;
const HITS = 1;
const RENEWALS = 2;

/** The reads and renewals of one resource over the last hour. */
export interface ResourceHour {
  readonly reads: number;
  readonly hits: number;
  readonly renewals: number;
}

interface HistoryOptions {
  readonly clock: Clock;
  /** Whether an upstream is reachable, as far as known: asked after each answer. */
  readonly isReachable: (upstream: UpstreamName) => boolean;
}

/**
 * What has happened lately, for the console: fifteen minutes of requests in steps of five seconds, an hour of
 * callers, operations and resources, and the last events. It takes less than 1 MiB, whatever callers do.
 */
export class History implements EventReader {
  readonly #clock: Clock;
  /** When the last request left, on `clock.now()`; `null` before the first. */
  #sentAt: number | null = null;
  readonly #isReachable: HistoryOptions['isReachable'];
  readonly #steps: Readonly<Record<UpstreamName, SendSteps>>;
  readonly #operations: HourTable<OperationRow>;
  readonly #spenders: HourTable<SpenderRow>;
  readonly #refreshes: HourTable<SpenderRow>;
  readonly #resources: HourTable<HourCounts>;
  readonly #foreign: HourCounts;
  readonly #sends: HourCounts;
  readonly #unreachable = new Set<UpstreamName>();
  /** Takes back what was counted of a request, if it does not leave after all. */
  readonly #takeBack = new WeakMap<object, () => void>();
  /** What has happened, for people. */
  readonly log: EventLog;

  constructor({ clock, isReachable }: HistoryOptions) {
    this.#clock = clock;
    this.#isReachable = isReachable;
    this.#steps = { LINKS: new SendSteps(clock), MARKET: new SendSteps(clock) };
    this.#operations = new HourTable(OPERATIONS_COUNTED, (key) => new OperationRow(clock, key));
    this.#spenders = new HourTable(SPENDERS_COUNTED, (key) => new SpenderRow(clock, key));
    this.#refreshes = new HourTable(RESOURCES_COUNTED, (key) => new SpenderRow(clock, key));
    this.#resources = new HourTable(RESOURCES_COUNTED, () => new HourCounts(clock, RENEWALS + 1));
    this.#foreign = new HourCounts(clock, 1);
    this.#sends = new HourCounts(clock, 1);
    this.log = new EventLog(clock);
  }

  listening({ version }: EventRows['listening']): void {
    this.log.add('started', `Version ${version} has started.`);
  }

  draining(): void {
    this.log.add('draining', 'The gateway is about to stop.');
  }

  requestSent(request: EventRows['requestSent']): void {
    const { asker, caller, lane, renews, resource, upstream } = request;
    const operation = asker?.operation == null ? null : copiedName(asker.operation);
    const takeBack = this.#steps[upstream].sent(lane, resource, operation);
    const spender =
      caller === null
        ? this.#refreshes.of(SpenderRow.key('', resource))
        : this.#spenders.of(SpenderRow.key(copiedName(caller), resource));
    const resourceHour = this.#resources.of(keyOf(upstream, resource));
    const count = (times: 1 | -1): void => {
      spender.counts.add(0, times);
      this.#sends.add(0, times);
      if (renews) resourceHour.add(RENEWALS, times);
    };
    count(1);
    this.#sentAt = this.#clock.now();
    this.#takeBack.set(request, () => {
      takeBack();
      count(-1);
    });
  }

  requestEnded({ outcome: { code }, request }: EventRows['requestEnded']): void {
    const { asker, method, resource, upstream } = request;
    const name = upstreamTitle[upstream];
    const what = `${method} ${resource}`;
    const requestId = asker?.requestId ?? null;
    if (code === 'LATE') {
      this.#takeBack.get(request)?.();
      return;
    }
    if (code === 'REFUSED') {
      this.#steps[upstream].count('refused', 1);
      this.log.add('refused', `${name} refused ${what} for its rate limit.`, requestId);
    } else if (code !== 'OK' && code !== 'CANCELED' && code !== 'UPSTREAM_REJECTED') {
      this.log.add('failed', `${name} failed at ${what}: ${code}.`, requestId);
    }
    if (!this.#isReachable(upstream)) this.#unreachable.add(upstream);
    else if (this.#unreachable.has(upstream) && (code === 'OK' || code === 'REFUSED')) {
      this.#unreachable.delete(upstream);
      this.log.add('reachable', `${name} answers again.`);
    }
  }

  reads({ resource, result, times, upstream }: EventRows['reads']): void {
    const counts = this.#resources.of(keyOf(upstream, resource));
    counts.add(READS, times);
    if (result !== 'miss') counts.add(HITS, times);
  }

  queue({ change, upstream }: EventRows['queue']): void {
    this.#steps[upstream].queue(change);
  }

  foreign({ count, upstream }: EventRows['foreign']): void {
    this.#steps[upstream].count('foreign', count);
    this.#foreign.add(0, count);
  }

  paused({ ms, upstream }: EventRows['paused']): void {
    const seconds = Math.max(1, Math.round(ms / 1000));
    this.log.add('paused', `${upstreamTitle[upstream]} is left alone for ${seconds} s.`);
  }

  outage({ isOut }: EventRows['outage']): void {
    const text = isOut ? 'Redis cannot be asked: nothing is sent until it can.' : 'Redis is back.';
    this.log.add('redis', text);
  }

  epoch(): void {
    this.log.add('redis', 'Redis begins with an empty memory.');
  }

  operationEnded({ record }: EventRows['operationEnded']): void {
    const { codes, name, outcome, requestId, type } = record;
    const shown = name === null ? null : copiedName(name);
    this.#operations.of(OperationRow.key(type, shown)).count(record);
    const grave = codes.filter((code) => !CALLERS_FAULT.test(code)).slice(0, CODES_SHOWN);
    if (grave.length === 0 || outcome === 'ok' || outcome === 'canceled') return;
    const how = outcome === 'partial' ? 'failed in part' : 'failed';
    const what = shown === null ? `A ${type} without a name` : `The ${type} ${shown}`;
    this.log.add('operation-failed', `${what} ${how}: ${grave.join(', ')}.`, requestId);
  }

  answeredInBulk({ names }: EventRows['answeredInBulk']): void {
    for (const [name, { runs, saved }] of names) {
      const key = OperationRow.key('query', name === null ? null : copiedName(name));
      this.#operations.of(key).countInFront(runs, saved);
    }
  }

  /** Fifteen minutes of one upstream. */
  sends(upstream: UpstreamName): StepColumns {
    return this.#steps[upstream].columns;
  }

  /** Milliseconds since the last request left; `null` before the first. */
  get sentMsAgo(): number | null {
    return this.#sentAt === null ? null : this.#clock.now() - this.#sentAt;
  }

  /** Requests of the last hour, to all upstreams. */
  get sendsOfHour(): number {
    return this.#sends.sum(0);
  }

  /** What others have sent in the last hour under keys in use here. */
  get foreignOfHour(): number {
    return this.#foreign.sum(0);
  }

  /** Callers by resource; `others` are those who were forgotten for newer ones. */
  get spenders(): { readonly rows: Iterable<SpenderRow>; readonly others: SpenderRow | null } {
    return this.#spenders;
  }

  /** Refreshes by resource. */
  get refreshes(): Iterable<SpenderRow> {
    return this.#refreshes.rows;
  }

  /** Operations by name; `others` are those that were forgotten for newer ones. */
  get operations(): {
    readonly rows: Iterable<OperationRow>;
    readonly others: OperationRow | null;
  } {
    return this.#operations;
  }

  /** The last hour of one resource. */
  hourOf(upstream: UpstreamName, resource: string): ResourceHour {
    const counts = this.#resources.of(keyOf(upstream, resource));
    return { reads: counts.sum(READS), hits: counts.sum(HITS), renewals: counts.sum(RENEWALS) };
  }
}

/** Codes of what a caller did wrong: no operator can do anything about it. */
const CALLERS_FAULT = /^(GRAPHQL|BAD|PERSISTED|OPERATION|TOO)_|^UNAUTHENTICATED$|^FORBIDDEN$/;

function keyOf(upstream: UpstreamName, resource: string): string {
  return `${upstream} ${resource}`;
}
