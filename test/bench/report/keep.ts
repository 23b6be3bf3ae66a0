import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { merged, type Run } from './run.ts';
import { headline, section } from './table.ts';

const FORMATTER = join('test', 'check', 'node_modules', '.bin', 'biome');
const RESULTS = 'test/bench/results.json';
const PAGE = 'docs/measured.md';
const README = 'README.md';

/** Writes a run of some of the benches down beside what was kept of the others. */
export function keepSome(run: Run): string[] {
  return keep(merged(JSON.parse(readFileSync(RESULTS, 'utf8')) as Run, run));
}

/** Writes a run down: as JSON, and into two pages. Returns the names of these files. */
export function keep(run: Run): string[] {
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
