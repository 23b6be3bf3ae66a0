import manifest from '../../package.json' with { type: 'json' };
import { roles } from '../auth/viewer.ts';
import { settings } from '../config/settings.ts';
import { readOptions } from './arguments.ts';
import { SANDBOX_PORTS } from './sandbox.ts';

const [links, market] = SANDBOX_PORTS;

const help = `Serves a GraphQL graph over a link-management API and a marketplace API.

Usage: links-market-gateway [command] [options]

  (no command)    Serves, with the settings below in the environment. On its sandbox where no upstream is set.
  sandbox         Serves both REST APIs of the sandbox alone, on the ports ${links.name} (${links.usual}) and
                  ${market.name} (${market.usual}).
  token           Makes a token for AUTH_MODE=token, prints it once, and adds its hash to a file. To take a token
                  back, delete its entry; a running gateway notices either within a second.
    --name NAME     whom it is for: up to 64 letters, digits or any of . _ @ -
    --role ROLE     ${roles.join(', ')}: each may do what those before it may
    --expires DATE  the date on which it stops to work, at midnight UTC, or a time with its zone
    --file FILE     default: AUTH_TOKENS_FILE, or else tokens.json
  check-config    Says what the settings come to. --check-config is the same.
    --probe         also asks each upstream one question, within its rate limit, connects to Redis if one is set,
                    and says what is wrong; a gateway that runs with these settings asks in its place
  print-schema    Writes the graph as SDL.

  -h, --help      Writes this.
  -v, --version   Writes the version.

From a package: npx links-market-gateway. From the sources: npm start, npm run sandbox, npm run token -- …, which build
first, or node dist/main.js with the same arguments.

Settings (${settings.length}; a secret may also come from the file that NAME_FILE names):
${settings.map(({ name, default: value, doc }) => `  ${name}${value === null ? '' : ` = ${value}`}\n      ${doc}`).join('\n')}

Exit codes: 0 after a clean stop, 1 for a fault, 2 for a faulty configuration or command line. A probe
ends with 2 where a setting is to be mended, and with 1 where an upstream or Redis
cannot be asked.
SIGTERM and SIGINT let running requests finish; a second one ends the process at once. A defect is logged as an unexpected
error. One that shows as an exception outside of any promise also stops the process in the same way, with 1.
The log goes to standard output, one JSON object a line, and in words to a terminal. With NODE_ENV=production the report of a
start is one of them, unless a person watches.
`;

/** Writes every command with its options, every setting, and the exit codes, whatever is asked for besides. */
export function printHelp(): void {
  process.stdout.write(help);
}

/**
 * Writes the version.
 * @throws UsageError for any argument.
 */
export function printVersion(args: readonly string[]): void {
  readOptions(args, {});
  process.stdout.write(`${manifest.version}\n`);
}
