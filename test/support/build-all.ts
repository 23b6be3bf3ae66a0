import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dashboardPackages } from './needs.ts';

/**
 * Installs the packages that only some tests need, and builds the gateway, the client package and the dashboard, if its
 * packages are installed, once for all tests that start what is there.
 * @throws Error when a step fails.
 */
export async function setup(): Promise<void> {
  await run(process.execPath, 'scripts/packages.js', 'test/docs', 'test/e2e');
  await Promise.all([run('npm', 'run', '--silent', 'build'), buildDashboard()]);
}

/** What it imports of the client package comes first. */
async function buildDashboard(): Promise<void> {
  await run('npm', 'run', '--silent', 'build:client');
  if (existsSync(dashboardPackages.path)) await run(process.execPath, 'scripts/build-dashboard.js');
}

async function run(command: string, ...args: readonly string[]): Promise<void> {
  const [status] = await once(spawn(command, args, { stdio: 'inherit' }), 'close');
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ended with ${status}`);
}
