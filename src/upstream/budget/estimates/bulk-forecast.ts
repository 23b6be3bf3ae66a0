import type { BulkNeed } from '../budget.ts';
import { callerInClass, classOf } from '../law/callers/caller-names.ts';
import type { QueueForecast } from './queue-forecast.ts';

/** Number of windows that the forecast of jobs simulates, and maximum number of requests. */
const PLAYED_WINDOWS = 3;
const MOST_PLAYED = 100;

/**
 * Milliseconds until this number of further requests of jobs of a class have their responses, see `Budget.bulkForecastMs`. Others are
 * assumed to use as many slots as before, each for a new caller. Other classes in the lane `bulk` are assumed to wait
 * until they have as many in a window.
 */
export function bulkForecastMs(forecast: QueueForecast, { callerClass, calls }: BulkNeed): number {
  const { latencyMs, limit, windowMs } = forecast;
  const others = forecast.knowOthers();
  const beside = [...forecast.bulkSlots].flatMap(([name, slots]) =>
    name === callerClass ? [] : [{ name, slots, arrived: 0 }],
  );
  const answers: number[] = [];
  let arrived = 0;
  let played = 0;
  for (let atMs = 0; answers.length < calls && atMs < PLAYED_WINDOWS * windowMs; ) {
    if (forecast.queuedOf(callerClass) === 0) {
      forecast.add('bulk', callerInClass('', callerClass));
    }
    for (; arrived < Math.floor((others * atMs) / windowMs); arrived += 1) {
      forecast.add('interactive', `other ${arrived}`);
    }
    for (const each of beside) {
      const most = each.slots * (1 + Math.floor(atMs / windowMs));
      if (each.arrived >= most || forecast.queuedOf(each.name) > 0) continue;
      forecast.add('bulk', callerInClass(`other ${each.arrived}`, each.name));
      each.arrived += 1;
    }
    const departure = forecast.next(atMs);
    if (!departure) return Number.POSITIVE_INFINITY;
    atMs = departure.leavesInMs;
    const { caller, lane } = departure.waiting;
    if (lane === 'bulk' && classOf(caller) === callerClass) answers.push(departure.answersInMs);
    played += 1;
    if (played >= MOST_PLAYED) break;
  }
  const lastMs = answers.at(-1) ?? 0;
  const left = calls - answers.length;
  if (left <= 0) return lastMs;
  const roundMs = windowMs + latencyMs;
  // Of a high limit, less than a round was simulated.
  if (lastMs < roundMs) {
    return lastMs + left * Math.max(latencyMs, roundMs / Math.max(1, limit - others));
  }
  // A slot is used again after a round, so that what follows repeats the last one.
  const inRound = answers.filter((each) => each > lastMs - roundMs).length;
  const rounds = Math.ceil(left / inRound);
  return (answers[calls - 1 - rounds * inRound] ?? lastMs) + rounds * roundMs;
}
