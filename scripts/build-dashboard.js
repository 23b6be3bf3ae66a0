// Builds examples/dashboard, after installing its packages if they are missing or old.
import { execFileSync } from 'node:child_process';
import { installPackages } from './packages.js';

const folder = 'examples/dashboard';

installPackages(folder);
execFileSync('npm', ['run', '--silent', 'build', '--', '--logLevel', 'warn'], {
  cwd: folder,
  // A production build, even if a test starts it.
  env: { ...process.env, NODE_ENV: 'production' },
  stdio: 'inherit',
});
