import manifest from '../../package.json' with { type: 'json' };
import { roles } from '../auth/viewer.ts';
import { settings } from '../config/settings.ts';
import { readOptions } from './arguments.ts';

const help = `A GraphQL server in front of a link-management API and a marketplace API.

Usage: links-market-gateway [command] [options]

  (no command)    Starts the gateway with the settings below; on its sandbox if no API is configured.
  sandbox         Starts the REST APIs of the sandbox alone.
    --links-port N  port of the link-management API; default: 4010
    --market-port N port of the marketplace API; default: 4020
  token           Creates a token for AUTH_MODE=token, prints it once, and adds its hash to a file. To revoke a
                  token, delete its entry; a running gateway reads changes within a second.
    --name NAME     name of the caller: up to 64 letters, digits or any of . _ @ -
    --role ROLE     ${roles.join(', ')}: each includes the permissions of those before it
    --class CLASS   class of the caller, of CALLER_CLASSES; default without it
    --expires DATE  expiry: a date, at midnight UTC, or a time with an offset
    --file FILE     default: AUTH_TOKENS_FILE, or else tokens.json
  export FILE     Starts an export on a running gateway, from a file with its query (- for standard input), and writes
                  its rows when it is complete. Its token is read from GATEWAY_TOKEN.
    --url URL       address of the gateway; default: http://127.0.0.1:4000
    --format F      jsonl or csv; default: jsonl
  check-config    Prints the value of each setting. Same as --check-config.
    --probe         also sends one request to each API within its rate limit and reports what is wrong; a gateway
                    running with these settings sends the requests instead
  print-schema    Prints the schema as SDL.

  -h, --help      Prints this help.
  -v, --version   Prints the version.

From source: npm start, npm run sandbox and npm run token -- …, which build first, or node dist/main.js with the same
arguments. From the package, after publication: npx links-market-gateway.

Settings (${settings.length}; a secret can also be read from the file in NAME_FILE):
${settings.map(({ name, default: value, doc }) => `  ${name}${value === null ? '' : ` = ${value}`}\n      ${doc}`).join('\n')}

Exit codes: 0 after a clean shutdown, 1 after a failure, 2 for an invalid configuration or command line. A probe exits with 2
if a setting must be corrected, and with 1 if an API is unreachable. An export exits with 2 for an invalid query, and with
3 if it is complete but rows have errors.
SIGTERM and SIGINT complete running requests; a second signal ends the process at once. Bugs are logged as unexpected errors.
An uncaught exception also shuts the process down, with exit code 1.
The log is written to standard output, one JSON object per line, and as text to a terminal. With NODE_ENV=production, the start
report is a log line too, unless the output is a terminal.
`;

/** Prints all commands with their options, all settings, and the exit codes. */
export function printHelp(): void {
  process.stdout.write(help);
}

/**
 * Prints the version.
 * @throws UsageError for any argument.
 */
export function printVersion(args: readonly string[]): void {
  readOptions(args, {});
  process.stdout.write(`${manifest.version}\n`);
}
