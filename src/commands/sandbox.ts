import { EnvironmentReader } from '../config/environment.ts';
import { isLocal } from '../http/door/local-caller.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { readTextFile } from '../storage/text-file.ts';
import { readOptions } from './arguments.ts';
import { exitCode } from './faults.ts';

/** The settings of the ports, for the link-management API and the marketplace API. */
export const SANDBOX_PORTS = [
  { name: 'SANDBOX_LINKS_PORT', usual: 4010 },
  { name: 'SANDBOX_MARKET_PORT', usual: 4020 },
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Serves both REST APIs of the sandbox until SIGINT or SIGTERM.
 * @throws UsageError for any argument.
 */
export async function runSandbox(args: readonly string[], env: Environment): Promise<void> {
  readOptions(args, {});
  const reader = new EnvironmentReader(env, readTextFile);
  const port = ({ name, usual }: (typeof SANDBOX_PORTS)[number]) =>
    reader.has(name) ? reader.integer(name) : usual;
  const [linksPort, marketPort] = [port(SANDBOX_PORTS[0]), port(SANDBOX_PORTS[1])];
  try {
    if (reader.faults.length > 0) throw new Error(reader.faults.join(' ').replace(/\.$/, ''));
    const sandbox = await startSandbox({ linksPort, marketPort, isLocal });
    const stop = () => void sandbox.close();
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
    // Last: a process that waits for these lines may send its signal at once.
    process.stdout.write(introduce(sandbox));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException & { port?: number };
    const busy =
      code === 'EADDRINUSE' ? `port ${(error as { port?: number }).port} is in use` : message;
    process.stderr.write(`The sandbox cannot start: ${busy}.\n`);
    process.exitCode = exitCode.fault;
  }
}

function introduce({ links, market }: Sandbox): string {
  const { admin, pro, free } = links.keys;
  return `Link management API  ${links.url}
  admin key  ${admin}
  pro key    ${pro}
  free key   ${free}
Marketplace API      ${market.url}
  key        ${market.key}
  a purchase code  ${market.purchaseCodes.valid[0]}

curl -H 'Authorization: Bearer ${admin}' ${links.url}/api/account
curl '${market.url}/api/account/details?api_key=${market.key}'

To make an API fail, POST to /__faults at its address; GET lists the kinds.
  curl ${links.url}/__faults -d '{"kind":"slow","delayMs":3000,"times":1}'
`;
}
