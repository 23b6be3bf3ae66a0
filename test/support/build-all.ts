import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dashboardPackages } from './needs.ts';

/** Compiles the gateway into `dist`, and the dashboard if it is installed, once for all tests that start what is there. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
  if (!existsSync(dashboardPackages.path)) return;
  execFileSync(process.execPath, ['scripts/build-dashboard.js'], { stdio: 'inherit' });
}
