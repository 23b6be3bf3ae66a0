// Builds examples/dashboard, and installs its packages first where they are missing.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const folder = 'examples/dashboard';

/** @param {string[]} args */
function npm(...args) {
  // What is built is what would be shipped, also where a test asks for it.
  const env = { ...process.env, NODE_ENV: 'production' };
  execFileSync('npm', args, { cwd: folder, env, stdio: 'inherit' });
}

if (!existsSync(`${folder}/node_modules/.package-lock.json`)) npm('ci', '--include=dev');
npm('run', '--silent', 'build', '--', '--logLevel', 'warn');
