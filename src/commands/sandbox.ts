import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
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
  try {
    const [links, market] = SANDBOX_PORTS;
    const sandbox = await startSandbox({
      linksPort: port(env, links),
      marketPort: port(env, market),
    });
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

/** Port for one of the APIs: from the environment, or the default. */
function port(env: Environment, { name, usual }: (typeof SANDBOX_PORTS)[number]): number {
  const text = env[name]?.trim();
  if (!text) return usual;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Error(`${name} is no port: ${text}`);
  return Number(text);
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
`;
}
