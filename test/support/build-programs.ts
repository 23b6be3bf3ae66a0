import { execFileSync } from 'node:child_process';

/** Compiles the gateway into `dist`, without its pages, once for all tests that start it as a process. */
export function setup(): void {
  execFileSync(process.execPath, ['scripts/build.js'], { stdio: 'inherit' });
}
