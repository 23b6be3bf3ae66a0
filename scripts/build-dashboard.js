// Builds examples/dashboard, and installs its packages first where they are missing or old.
import { execFileSync } from 'node:child_process';
import { installPackages } from './packages.js';

const folder = 'examples/dashboard';

installPackages(folder);
execFileSync('npm', ['run', '--silent', 'build', '--', '--logLevel', 'warn'], {
  cwd: folder,
  // What is built is what would be shipped, also where a test asks for it.
  env: { ...process.env, NODE_ENV: 'production' },
  stdio: 'inherit',
});
