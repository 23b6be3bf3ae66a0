import { DEFAULT_CLASS } from '../auth/caller-class.ts';
import { BadUserInput, type UpstreamName } from '../errors.ts';
import { copiedName, type EventReader } from '../observe/event-stream.ts';
import type { EventRows } from '../observe/events.ts';
import type { Scrub } from '../observe/log/scrub.ts';
import type { Clock } from '../scheduling/clock.ts';
import { loopTurns } from '../scheduling/loop-turns.ts';
import { TooManyGroups, type UsageDimension, type UsageReport, UsageSums } from './usage-report.ts';
import { onOneLine, REFRESHES, UNNAMED, type UsageRow } from './usage-row.ts';
import { DAY_MS, KEPT_DAYS, type UsageStore } from './usage-store.ts';

/** Maximum number of groups of a report. */
const MOST_GROUPS = 20_000;

interface UsageOptions {
  readonly clock: Clock;
  readonly store: UsageStore;
  /** Removes secrets from a text. */
  readonly scrub: Scrub;
  /** Emits the counts that were made in bulk. */
  readonly look: () => void;
}

/** The days of a report, as numbers of days since 1970, and its groups. */
export interface UsageTerms {
  /** The first and the last day, inclusive. */
  readonly from: number;
  readonly to: number;
  readonly by: readonly UsageDimension[];
  /** Only requests of this caller, if it is present. */
  readonly caller?: string | undefined;
}

/**
 * Counts who has sent how many upstream requests, and how many were avoided, by day, caller, class, operation and
 * resource. A request counts when its first byte is sent, for the caller that causes it. Costs no upstream request.
 */
export class Usage implements EventReader {
  readonly #options: UsageOptions;
  #day = Number.NEGATIVE_INFINITY;

  constructor(options: UsageOptions) {
    this.#options = options;
  }

  requestLeaves(request: EventRows['requestLeaves']): void {
    const { asker, caller, callerClass, resource, upstream } = request;
    const operation = asker ? (asker.operation ?? UNNAMED) : UNNAMED;
    this.#add({
      upstream,
      resource,
      callerClass: callerClass ?? REFRESHES,
      caller: caller === null ? REFRESHES : this.#shown(caller),
      operation: caller === null ? REFRESHES : this.#shown(operation),
      calls: 1,
      saved: 0,
    });
  }

  saved({ caller, callerClass, kinds, operation, times }: EventRows['saved']): void {
    const key = {
      callerClass: callerClass ?? DEFAULT_CLASS,
      caller: this.#shown(caller),
      operation: this.#shown(operation ?? UNNAMED),
    };
    for (const { count, resource, upstream } of kinds) {
      this.#add({ ...key, upstream, resource, calls: 0, saved: count * times });
    }
  }

  /** Number of requests on the current day to an upstream, by callers of a class, before this process started. */
  callsBefore(upstream: UpstreamName, callerClass: string): number {
    return this.#options.store.callsBefore(this.today, upstream, callerClass);
  }

  /** The current day, in days since 1970 in UTC. It never goes back. */
  get today(): number {
    this.#day = Math.max(this.#day, Math.floor(this.#options.clock.wall() / DAY_MS));
    return this.#day;
  }

  /**
   * The usage of some days, in turns of the event loop.
   * @throws BadUserInput `BAD_USER_INPUT` if the days are not kept, or there are too many groups.
   */
  async report({ by, caller, from, to }: UsageTerms): Promise<UsageReport> {
    const { look, store } = this.#options;
    if (from > to) throw new BadUserInput('"from" must not be after "to".');
    if (to - from >= KEPT_DAYS) {
      throw new BadUserInput(`"from" and "to" must not be more than ${KEPT_DAYS} days apart.`);
    }
    look();
    const sums = new UsageSums(by, MOST_GROUPS);
    const only = caller === undefined ? null : this.#shown(caller);
    try {
      for (let day = Math.max(from, store.firstDay); day <= Math.min(to, this.today); day += 1) {
        for (const row of await store.read(day)) {
          if (only === null || row.caller === only) sums.add(day, row);
        }
        await loopTurns.turn();
      }
    } catch (error) {
      if (!(error instanceof TooManyGroups)) throw error;
      throw new BadUserInput(
        `The usage has more than ${MOST_GROUPS} groups. Shorten the period, or group by fewer dimensions.`,
      );
    }
    return sums.report;
  }

  /** Saves what is not saved yet. */
  async close(): Promise<void> {
    this.#options.look();
    await this.#options.store.close();
  }

  #add(row: UsageRow): void {
    this.#options.store.add(this.today, row);
  }

  #shown(name: string): string {
    return onOneLine(copiedName(this.#options.scrub(name)));
  }
}

/** The first day of the month of a day, both in days since 1970. */
export function firstOfMonth(day: number): number {
  return day - new Date(day * DAY_MS).getUTCDate() + 1;
}
