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

// The last that npm puts there, and the package that an older installation lacks.
const installed = ['.package-lock.json', 'links-market-client/package.json'];
if (!installed.every((path) => existsSync(`${folder}/node_modules/${path}`))) {
  npm('ci', '--include=dev');
}
npm('run', '--silent', 'build', '--', '--logLevel', 'warn');
