import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import type { Circumstances } from './run.ts';

/** One number that a bench has measured. */
export interface Figure {
  /** What it is the number of, for somebody who has not read the bench. */
  readonly label: string;
  readonly value: number;
  /** Written behind the value, such as ` ms`; default nothing. */
  readonly unit?: string;
  /** Digits after the point; default 0. */
  readonly digits?: number;
  /** Without one, the figure is there to be known. */
  readonly target?: { readonly atMost: number } | { readonly atLeast: number };
  /** What else there is to say, such as the parts of a ratio. */
  readonly note?: string;
}

/** What one bench has found. */
export interface Measurement {
  /** The name of its file, without `.bench.ts`. */
  readonly bench: string;
  /** What was done, in one sentence. */
  readonly about: string;
  readonly figures: readonly Figure[];
  /** When and where, if that was in an earlier run. */
  readonly measured?: Circumstances;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder where benches leave what they have found. */
    readonly measurements: string;
  }
}

/** Leaves a measurement for the report, then fails for each figure that misses its target. */
export function record(measurement: Measurement): void {
  const path = join(inject('measurements'), `${measurement.bench}.json`);
  writeFileSync(path, JSON.stringify(measurement));
  const misses = measurement.figures.filter((figure) => !meets(figure));
  expect(misses.map((figure) => `${figure.label}: ${written(figure)}`)).toEqual([]);
}

/** Whether a figure is what it should be; one without a target is. */
export function meets({ value, target }: Figure): boolean {
  if (!target) return true;
  return 'atMost' in target ? value <= target.atMost : value >= target.atLeast;
}

/** The value as a person reads it. */
export function written({ value, unit = '', digits = 0 }: Figure): string {
  return `${value.toFixed(digits)}${unit}`;
}

/** The target as a person reads it; empty when there is none. */
export function writtenTarget({ target, unit = '', digits = 0 }: Figure): string {
  if (!target) return '';
  const [sign, bound] = 'atMost' in target ? ['≤', target.atMost] : ['≥', target.atLeast];
  return `${sign} ${bound.toFixed(digits)}${unit}`;
}

/** The value below which so large a share of the values lie. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
