import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { keep } from './keep.ts';
import type { Measurement } from './measurement.ts';
import { describeRun, type Run } from './run.ts';
import { tableForTerminal } from './table.ts';

/** Gathers what the benches find; then prints it and, when all of them ran, keeps it. */
export default function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  provide('measurements', folder);
  return () => {
    const measurements = readdirSync(folder)
      .sort()
      .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Measurement);
    rmSync(folder, { recursive: true });
    if (measurements.length === 0) return;
    const run: Run = { ...describeRun(), measurements };
    process.stdout.write(`\n${tableForTerminal(run)}\n`);
    const missing = readdirSync('test/bench')
      .filter((name) => name.endsWith('.bench.ts'))
      .map((name) => name.replace('.bench.ts', ''))
      .filter((name) => !measurements.some(({ bench }) => bench === name));
    if (missing.length === 0) process.stdout.write(`\nKept in ${keep(run).join(', ')}.\n`);
    else process.stdout.write(`\nNot kept: without ${missing.join(', ')}, this is not all.\n`);
  };
}
