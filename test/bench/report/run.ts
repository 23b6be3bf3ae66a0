import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import type { Measurement } from './measurement.ts';

/** When and where something was measured. */
export interface Circumstances {
  /** ISO 8601. */
  readonly date: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** Of the code that was measured; with a `+` when it was changed since. */
  readonly commit: string;
}

/** One run of the benches. */
export interface Run extends Circumstances {
  readonly measurements: readonly Measurement[];
}

/** Where and when we are. */
export function describeRun(): Circumstances {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    node: process.version,
    cpu: cpu?.model.trim() ?? 'unknown',
    cores: cpus().length,
    commit: commit(),
  };
}

/** The circumstances in one line. */
export function writtenCircumstances({ date, node, cpu, cores, commit }: Circumstances): string {
  return `${date.slice(0, 10)}, ${cpu} (${cores} cores), Node ${node}, commit ${commit}`;
}

/** The circumstances of a run and, where some benches were measured in earlier ones, of those. */
export function writtenRun(run: Run): string {
  const earlier = new Map<string, string[]>();
  for (const { bench, measured } of run.measurements) {
    if (!measured) continue;
    const circumstances = writtenCircumstances(measured);
    earlier.set(circumstances, [...(earlier.get(circumstances) ?? []), bench]);
  }
  const others = [...earlier].map(([when, benches]) => `${benches.join(', ')} (${when})`);
  return [writtenCircumstances(run), ...others].join('. Measured earlier: ');
}

/** A run in place of the same benches of an earlier one, and all others of that. */
export function merged(earlier: Run, run: Run): Run {
  const { measurements, ...when } = earlier;
  const others = measurements
    .filter(({ bench }) => !run.measurements.some((each) => each.bench === bench))
    .map((each) => ({ measured: when, ...each }));
  const all = [...others, ...run.measurements].sort((a, b) => (a.bench < b.bench ? -1 : 1));
  return { ...run, measurements: all };
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  try {
    const changed = git('status', '--porcelain', '--', 'src') !== '';
    return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '');
  } catch {
    return 'unknown';
  }
}
