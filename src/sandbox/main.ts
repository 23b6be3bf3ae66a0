import { type Sandbox, startSandbox } from './sandbox.ts';

/** Port for one of the APIs: from the environment, or the default. */
function port(name: string, usual: number): number {
  const text = process.env[name]?.trim();
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

try {
  const sandbox = await startSandbox({
    linksPort: port('SANDBOX_LINKS_PORT', 4010),
    marketPort: port('SANDBOX_MARKET_PORT', 4020),
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
  process.exitCode = 1;
}
