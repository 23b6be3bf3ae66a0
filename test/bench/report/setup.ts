import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { keep, keepSome } from './keep.ts';
import type { Measurement } from './measurement.ts';
import { describeRun, type Run } from './run.ts';
import { tableForTerminal } from './table.ts';

/**
 * Gathers what the benches find; then prints it and, when all of them ran, keeps it. With `KEEP=true` it keeps those
 * that ran beside what is kept of the others.
 */
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
    else if (process.env['KEEP'] === 'true' && !isPart())
      process.stdout.write(`\nKept in ${keepSome(run).join(', ')}.\n`);
    else process.stdout.write(`\nNot kept: without ${missing.join(', ')}, this is not all.\n`);
  };
}

/** Whether a bench measured only what was selected of it. */
function isPart(): boolean {
  return ['ROWS', 'ATTACKS'].some((name) => process.env[name] !== undefined);
}
