import type { Clock } from '../../clock.ts';
import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import { copiedName } from '../copied-name.ts';
import type {
  InFrontByName,
  Observer,
  OperationRecord,
  ReadResult,
  UpstreamOutcome,
} from '../observer.ts';
import { HappeningList } from './happenings.ts';
import { HourCounts, HourTable } from './hour.ts';
import { OperationRow, SpenderRow } from './rows.ts';
import { SendSteps, type StepColumns } from './send-steps.ts';

/** Names of operations, and pairs of a caller and a resource, that are counted on their own. */
const OPERATIONS_COUNTED = 128;
const SPENDERS_COUNTED = 400;
/** Resources are words of ours: more than there are. */
const RESOURCES_COUNTED = 64;

/** Codes of one operation that are told. */
const CODES_TOLD = 5;

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
export class History implements Observer {
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
  /** Reads since the last operation ended: to find their column takes longer than the cache to answer one. */
  readonly #untold: Readonly<Record<UpstreamName, Map<string, { reads: number; hits: number }>>>;
  readonly #sends: HourCounts;
  readonly #unreachable = new Set<UpstreamName>();
  /** What has happened, for people. */
  readonly happenings: HappeningList;

  constructor({ clock, isReachable }: HistoryOptions) {
    this.#clock = clock;
    this.#isReachable = isReachable;
    this.#steps = { LINKS: new SendSteps(clock), MARKET: new SendSteps(clock) };
    this.#operations = new HourTable(OPERATIONS_COUNTED, (key) => new OperationRow(clock, key));
    this.#spenders = new HourTable(SPENDERS_COUNTED, (key) => new SpenderRow(clock, key));
    this.#refreshes = new HourTable(RESOURCES_COUNTED, (key) => new SpenderRow(clock, key));
    this.#resources = new HourTable(RESOURCES_COUNTED, () => new HourCounts(clock, RENEWALS + 1));
    this.#foreign = new HourCounts(clock, 1);
    this.#untold = { LINKS: new Map(), MARKET: new Map() };
    this.#sends = new HourCounts(clock, 1);
    this.happenings = new HappeningList(clock);
  }

  request(
    ...[request]: Parameters<Required<Observer>['request']>
  ): ReturnType<Required<Observer>['request']> {
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
    return {
      end: (outcome) => {
        if (outcome.code === 'LATE') {
          takeBack();
          count(-1);
          return;
        }
        const what = `${request.method} ${resource}`;
        this.#ended(upstream, what, asker?.requestId ?? null, outcome);
      },
    };
  }

  read(upstream: UpstreamName, resource: string, result: ReadResult, times = 1): void {
    const untold = this.#untold[upstream];
    const counts = untold.get(resource) ?? { reads: 0, hits: 0 };
    if (counts.reads === 0) untold.set(resource, counts);
    counts.reads += times;
    if (result !== 'miss') counts.hits += times;
  }

  /** Puts the reads into their column: after each operation, or a minute later where many are answered in front. */
  #tellReads(): void {
    for (const upstream of ['LINKS', 'MARKET'] as const) {
      for (const [resource, untold] of this.#untold[upstream]) {
        if (untold.reads === 0) continue;
        const counts = this.#resources.of(keyOf(upstream, resource));
        counts.add(READS, untold.reads);
        counts.add(HITS, untold.hits);
        untold.reads = 0;
        untold.hits = 0;
      }
    }
  }

  queue(upstream: UpstreamName, change: 1 | -1): void {
    this.#steps[upstream].queue(change);
  }

  foreign(upstream: UpstreamName, count: number): void {
    this.#steps[upstream].count('foreign', count);
    this.#foreign.add(0, count);
  }

  paused(upstream: UpstreamName, ms: number): void {
    const seconds = Math.max(1, Math.round(ms / 1000));
    this.happenings.add('paused', `${upstreamTitle[upstream]} is left alone for ${seconds} s.`);
  }

  outage(isOut: boolean): void {
    const text = isOut ? 'Redis cannot be asked: nothing is sent until it can.' : 'Redis is back.';
    this.happenings.add('redis', text);
  }

  epoch(): void {
    this.happenings.add('redis', 'Redis begins with an empty memory.');
  }

  operation(record: OperationRecord): void {
    this.#tellReads();
    const { codes, name, outcome, requestId, type } = record;
    const shown = name === null ? null : copiedName(name);
    this.#operations.of(OperationRow.key(type, shown)).count(record);
    const grave = codes.filter((code) => !CALLERS_FAULT.test(code)).slice(0, CODES_TOLD);
    if (grave.length === 0 || outcome === 'ok' || outcome === 'canceled') return;
    const how = outcome === 'partial' ? 'failed in part' : 'failed';
    const what = shown === null ? `A ${type} without a name` : `The ${type} ${shown}`;
    this.happenings.add('operation-failed', `${what} ${how}: ${grave.join(', ')}.`, requestId);
  }

  answeredInFront(_remembered: number, _executed: number, names: InFrontByName): void {
    this.#tellReads();
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
    this.#tellReads();
    const counts = this.#resources.of(keyOf(upstream, resource));
    return { reads: counts.sum(READS), hits: counts.sum(HITS), renewals: counts.sum(RENEWALS) };
  }

  #ended(
    upstream: UpstreamName,
    what: string,
    requestId: string | null,
    { code }: UpstreamOutcome,
  ): void {
    if (code === 'REFUSED') {
      this.#steps[upstream].count('refused', 1);
      this.happenings.add(
        'refused',
        `${upstreamTitle[upstream]} refused ${what} for its rate limit.`,
        requestId,
      );
    } else if (code !== 'OK' && code !== 'CANCELED' && code !== 'UPSTREAM_REJECTED') {
      this.happenings.add(
        'failed',
        `${upstreamTitle[upstream]} failed at ${what}: ${code}.`,
        requestId,
      );
    }
    if (!this.#isReachable(upstream)) this.#unreachable.add(upstream);
    else if (this.#unreachable.has(upstream) && (code === 'OK' || code === 'REFUSED')) {
      this.#unreachable.delete(upstream);
      this.happenings.add('reachable', `${upstreamTitle[upstream]} answers again.`);
    }
  }
}

/** Codes of what a caller did wrong: no operator can do anything about it. */
const CALLERS_FAULT = /^(GRAPHQL|BAD|PERSISTED|OPERATION|TOO)_|^UNAUTHENTICATED$|^FORBIDDEN$/;

function keyOf(upstream: UpstreamName, resource: string): string {
  return `${upstream} ${resource}`;
}
