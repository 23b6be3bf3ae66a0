import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { plot } from './plot.ts';
import type { Run } from './run.ts';
import { section } from './table.ts';

const RESULTS = 'test/bench/results.json';
const PICTURE = 'test/bench/results.svg';
const README = 'README.md';
/** The README's section from its heading to the next of its kind. */
const MEASURED = /^## Measured\n(?:(?!## ).*\n)*/m;

/** Writes a run down: as JSON, as a picture, and into the README. Answers which files those are. */
export function keep(run: Run): string[] {
  writeFileSync(RESULTS, `${JSON.stringify(run, null, 2)}\n`);
  execFileSync('node_modules/.bin/biome', ['format', '--write', RESULTS], { stdio: 'ignore' });
  writeFileSync(PICTURE, plot(run));
  if (!existsSync(README)) return [RESULTS, PICTURE];
  const readme = readFileSync(README, 'utf8').trimEnd();
  const measured = `## Measured\n\n${section(run, PICTURE)}\n`;
  const renewed = MEASURED.test(`${readme}\n`)
    ? `${readme}\n`.replace(MEASURED, () => `${measured}\n`).trimEnd()
    : `${readme}\n\n${measured}`.trimEnd();
  writeFileSync(README, `${renewed}\n`);
  return [RESULTS, PICTURE, README];
}
