import type { StepColumns } from '../../../src/observe/history/send-steps.ts';
import type { StepTimes } from '../../../src/observe/history/steps.ts';

/** More columns than that are too narrow to be seen, and fewer than that would be walls. */
const MOST = 180;
const LEAST = 24;

/** How steps become the columns of a plot: `ranges` names the steps of each, none where nothing is known yet. */
interface Coarse extends StepTimes {
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
}

/** Puts steps together where they are many. Boundaries stay where they are as time goes on. */
export function coarseSteps({ lastStep, lastStepAt, stepMs }: StepTimes, length: number): Coarse {
  const factor = Math.ceil(length / MOST);
  const ranges: { from: number; to: number }[] = [];
  const first = lastStep - length + 1;
  for (let step = first; step <= lastStep; ) {
    const next = (Math.floor(step / factor) + 1) * factor;
    ranges.push({ from: step - first, to: Math.min(length, next - first) });
    step = next;
  }
  while (ranges.length < LEAST) ranges.unshift({ from: 0, to: 0 });
  const last = ranges.at(-1);
  const behind = last ? last.to - last.from - 1 : 0;
  return {
    stepMs: factor * stepMs,
    lastStep: Math.floor(lastStep / factor),
    lastStepAt: lastStepAt - behind * stepMs,
    ranges,
  };
}

/** The sums of a counter by the columns of a plot. */
export function sums({ ranges }: Coarse, counts: readonly number[]): number[] {
  return ranges.map(({ from, to }) => counts.slice(from, to).reduce((sum, each) => sum + each, 0));
}

/** The largest values by the columns of a plot; `null` where nothing is known. */
export function largest({ ranges }: Coarse, values: readonly (number | null)[]): (number | null)[] {
  return ranges.map(({ from, to }) => {
    const known = values.slice(from, to).filter((value) => value !== null);
    return known.length > 0 ? Math.max(...known) : null;
  });
}

/** A history with the columns of a plot in the place of steps. */
export function coarseHistory(coarse: Coarse, history: StepColumns): StepColumns {
  const top: Record<number, StepColumns['top'][number]> = {};
  for (const [index, { from, to }] of coarse.ranges.entries()) {
    const senders = new Map<string, StepColumns['top'][number][number]>();
    for (let step = from; step < to; step += 1) {
      for (const sender of history.top[step] ?? []) {
        const kind = `${sender.resource} ${sender.operation}`;
        const sends = (senders.get(kind)?.sends ?? 0) + sender.sends;
        senders.set(kind, { ...sender, sends });
      }
    }
    const most = [...senders.values()].sort((a, b) => b.sends - a.sends);
    if (most.length > 0) top[index] = most.slice(0, 3);
  }
  const { lastStep, lastStepAt, stepMs } = coarse;
  return {
    stepMs,
    lastStep,
    lastStepAt,
    write: sums(coarse, history.write),
    interactive: sums(coarse, history.interactive),
    refresh: sums(coarse, history.refresh),
    bulk: sums(coarse, history.bulk),
    foreign: sums(coarse, history.foreign),
    refused: sums(coarse, history.refused),
    failed: sums(coarse, history.failed),
    queued: largest(coarse, history.queued).map((queued) => queued ?? 0),
    top,
  };
}
