import { execFileSync } from 'node:child_process';

/** Compiles the gateway into `dist`, once for all tests that start what is there. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
