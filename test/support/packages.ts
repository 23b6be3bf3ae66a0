import { execFileSync } from 'node:child_process';

/** Installs the libraries of the docs' examples, once for all tests of them. */
export function setup(): void {
  execFileSync(process.execPath, ['scripts/packages.js', 'test/docs'], { stdio: 'inherit' });
}
