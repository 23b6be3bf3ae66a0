// Starts `dist` on its sandbox with examples/dashboard, until Ctrl-C. The gateway has two tokens, created for this
// run, so that the page can show two callers.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
const tokens = join(folder, 'tokens.json');
/** @type {import('node:child_process').ChildProcess[]} */
const children = [];
let stopping = false;

try {
  const token = makeToken('you', 'admin');
  const neighbourToken = makeToken('neighbour', 'viewer');
  const started = await begin(/^GraphQL +(\S+)\/graphql[^]*/m, ['dist/main.js'], {
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: tokens,
    // The usual rate of the marketplace in shorter windows, to make waiting visible.
    MARKET_RATE_LIMIT: '5',
    MARKET_RATE_WINDOW_MS: '5000',
    MAX_WAIT_MS: '30000',
  });
  const [report = '', gateway = ''] = started;
  // Absent over real upstreams.
  const [, links = '', market = ''] =
    /^sandbox +(\S+) \(links\), (\S+) \(market\)/m.exec(report) ?? [];
  const vite = [
    'examples/dashboard/node_modules/vite/bin/vite.js',
    'preview',
    'examples/dashboard',
  ];
  const port = process.env['DASHBOARD_PORT'] ?? '4173';
  const [, page = ''] = await begin(
    /Local:\s+(\S+?)\/?\s/,
    [...vite, '--strictPort', '--port', port],
    {
      GATEWAY_URL: gateway,
      GATEWAY_TOKEN: token,
      SANDBOX_LINKS_URL: links,
      SANDBOX_MARKET_URL: market,
      NEIGHBOUR_TOKEN: neighbourToken,
      NO_COLOR: '1',
    },
  );
  process.stdout.write(`\ndashboard  ${page}\ngateway    ${gateway}/graphql\nCtrl-C ends both.\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  await stop(1);
}

/**
 * @param {string} name
 * @param {string} role
 */
function makeToken(name, role) {
  const args = ['dist/main.js', 'token', '--name', name, '--role', role, '--file', tokens];
  const stdio = /** @type {const} */ (['ignore', 'pipe', 'ignore']);
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio }).trim();
}

/**
 * Starts a program, and resolves with the match of what it says at its start, the address first. What the environment
 * sets already stays.
 *
 * @param {RegExp} start
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<RegExpExecArray>}
 */
function begin(start, args, env) {
  const stdio = /** @type {const} */ (['ignore', 'pipe', 'inherit']);
  const child = spawn(process.execPath, args, { env: { ...env, ...process.env }, stdio });
  children.push(child);
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      const found = start.exec(said);
      if (found) resolve(found);
    });
    child.once('close', (code) => {
      reject(new Error(`${args[0]} ended with ${code}:\n${said}`));
      void stop(1);
    });
  });
}

/**
 * Ends what runs, and then this process.
 *
 * @param {number} code
 */
async function stop(code) {
  if (stopping) return;
  stopping = true;
  await Promise.all(
    children.map(
      (child) =>
        new Promise((resolve) => {
          if (child.exitCode !== null || child.signalCode !== null) return resolve(undefined);
          child.once('close', resolve);
          return child.kill('SIGTERM');
        }),
    ),
  );
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

process.on('SIGINT', () => void stop(0));
process.on('SIGTERM', () => void stop(0));
