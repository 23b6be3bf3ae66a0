import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Measurement } from './measurement.ts';
import { describeRun, merged, type Run } from './run.ts';
import { headline, section, tableForTerminal } from './table.ts';

const FORMATTER = join('test', 'check', 'node_modules', '.bin', 'biome');
const RESULTS = 'test/bench/results.json';
const PAGE = 'docs/measured.md';
const README = 'README.md';

/** Writes a run of some of the benches down beside what was kept of the others. */
function keepSome(run: Run): string[] {
  return keep(merged(JSON.parse(readFileSync(RESULTS, 'utf8')) as Run, run));
}

/** Writes a run down: as JSON, and into two pages. Returns the names of these files. */
function keep(run: Run): string[] {
  writeFileSync(RESULTS, `${JSON.stringify(run, null, 2)}\n`);
  execFileSync(FORMATTER, ['format', '--write', RESULTS], {
    stdio: 'ignore',
  });
  renew(PAGE, 'Last run', section(run));
  const readme = readFileSync(README, 'utf8');
  writeFileSync(
    README,
    readme.replace(/^20 page views per second .*$/m, () => headline(run)),
  );
  return [RESULTS, PAGE, README];
}

/** Replaces what stands under a heading of a page, up to the next; at the end if there is no such. */
function renew(path: string, heading: string, text: string): void {
  const page = readFileSync(path, 'utf8').trimEnd();
  const written = `## ${heading}\n\n${text}\n`;
  const old = new RegExp(`^## ${heading}\\n(?:(?!## ).*\\n)*`, 'm');
  const renewed = old.test(`${page}\n`)
    ? `${page}\n`.replace(old, () => `${written}\n`)
    : `${page}\n\n${written}`;
  writeFileSync(path, `${renewed.trimEnd()}\n`);
}

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
