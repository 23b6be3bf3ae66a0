// Builds examples/dashboard, and installs its packages first where they are missing.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const folder = 'examples/dashboard';

/** @param {string[]} args */
const npm = (...args) => execFileSync('npm', args, { cwd: folder, stdio: 'inherit' });

if (!existsSync(`${folder}/node_modules/.package-lock.json`)) npm('ci');
npm('run', '--silent', 'build', '--', '--logLevel', 'warn');
