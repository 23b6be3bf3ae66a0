import { isLocal } from '../http/door/local-caller.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { readOptions } from './arguments.ts';
import { exitCode, UsageError } from './faults.ts';

const usualPorts = { 'links-port': '4010', 'market-port': '4020' } as const;

/**
 * Serves both REST APIs of the sandbox until SIGINT or SIGTERM.
 * @throws UsageError for an argument other than a port.
 */
export async function runSandbox(args: readonly string[]): Promise<void> {
  const options = readOptions(args, {
    'links-port': { type: 'string' },
    'market-port': { type: 'string' },
  });
  const port = (name: keyof typeof usualPorts): number => {
    const text = options[name] ?? usualPorts[name];
    if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
    throw new UsageError(`--${name} is not a port from 0 to 65535.`);
  };
  const [linksPort, marketPort] = [port('links-port'), port('market-port')];
  try {
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
