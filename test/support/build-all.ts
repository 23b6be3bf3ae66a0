import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dashboardPackages } from './needs.ts';

/** Set in the environment, since each project of tests loads this file anew. */
const DONE = 'TESTS_ARE_BUILT';

/** Installs what drives a browser, and compiles the gateway, the client package and the dashboard, if it is installed, once for all tests that start what is there. */
export function setup(): void {
  if (process.env[DONE] === 'true') return;
  process.env[DONE] = 'true';
  execFileSync(process.execPath, ['scripts/packages.js', 'test/e2e'], { stdio: 'inherit' });
  for (const script of ['build', 'build:client']) {
    execFileSync('npm', ['run', '--silent', script], { stdio: 'inherit' });
  }
  if (!existsSync(dashboardPackages.path)) return;
  execFileSync(process.execPath, ['scripts/build-dashboard.js'], { stdio: 'inherit' });
}
