import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../../support/folder.ts';
import type { Tool } from '../../support/needs.ts';
import { start } from '../../support/process.ts';

/** The official conformance suite of the protocol. */
export const suite: Tool = {
  name: 'the packages of test/e2e',
  path: 'test/e2e/node_modules/@modelcontextprotocol/conformance',
  install: 'npm ci --prefix test/e2e',
};

/** A revision of the protocol, with the scenarios that it requires. */
export type Revision = '2025-11-25' | '2026-07-28';

/** What a scenario has found out about one rule. */
interface Check {
  readonly id: string;
  readonly status: 'FAILURE' | 'INFO' | 'SKIPPED' | 'SUCCESS' | 'WARNING';
  readonly errorMessage?: string;
}

/** The checks of each scenario. */
type Results = ReadonlyMap<string, readonly Check[]>;

/** A scenario that ends with an exception has written no checks. */
const BROKEN: Check = { id: 'has-result', status: 'FAILURE' };
/**
 * No expectation of a whole scenario includes these. With the second one, all messages of a server match the schema of
 * the revision.
 */
const ALWAYS = new Set([BROKEN.id, 'wire-schema-valid']);

const PROGRAM = [
  '--import',
  './test/e2e/conformance/glob-sync.mjs',
  `${suite.path}/dist/index.js`,
  'server',
];

/**
 * Runs all server scenarios of a revision, also those that it does not require.
 * @throws Error when the suite does not run.
 */
export async function runSuite(url: string, revision: Revision): Promise<Results> {
  const folder = tempFolder();
  try {
    const options = ['--url', `${url}/mcp`, '--requirements', revision, '--output-dir', folder];
    const running = start(process.execPath, [...PROGRAM, ...options], { cwd: '.', env: {} });
    await running.ended;
    const results = readResults(folder);
    const [, count] = /\((\d+) scenarios\)/.exec(running.output()) ?? [];
    if (results.size === Number(count)) return results;
    throw new Error(`${results.size} results:\n${running.output()}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readResults(folder: string): Results {
  return new Map(
    readdirSync(folder).map((name) => {
      const [, scenario = name] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name) ?? [];
      const file = join(folder, name, 'checks.json');
      const checks = existsSync(file)
        ? (JSON.parse(readFileSync(file, 'utf8')) as Check[])
        : [BROKEN];
      return [scenario, checks];
    }),
  );
}

/**
 * The differences between results and an expectation, as sentences. `lacking` names what is expected not to pass:
 * scenarios, or single checks as `scenario:check`. A check that is skipped or has a warning has not passed.
 */
export function surprises(results: Results, lacking: readonly string[]): readonly string[] {
  const passing = new Set(lacking);
  const failing: string[] = [];
  for (const [scenario, checks] of results) {
    for (const { errorMessage = '', id, status } of checks) {
      if (status === 'SUCCESS' || status === 'INFO') continue;
      const check = `${scenario}:${id}`;
      const name = lacking.includes(check) || ALWAYS.has(id) ? check : scenario;
      passing.delete(name);
      if (!lacking.includes(name))
        failing.push(`${check} has the status ${status}: ${errorMessage}`);
    }
  }
  return [...failing, ...[...passing].map((name) => `${name} passes`)];
}
