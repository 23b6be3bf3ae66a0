import manifest from '../../package.json' with { type: 'json' };
import type { Config, UpstreamConfig } from '../config/config.ts';
import { schemaAccess } from '../graphql/schema-access.ts';

/** Where callers ask, and where operators do. */
interface Addresses {
  readonly url: string;
  readonly operatorsUrl: string;
  /** Where each API of the embedded sandbox listens; `null` over real upstreams. */
  readonly sandbox: Readonly<Record<'links' | 'market', { readonly url: string }>> | null;
}

/**
 * Facts about the start for the operator: address, upstreams and limits. Hosts are shown, keys and paths never.
 */
export function startReport(config: Config, addresses: Addresses): string[] {
  const facts = startFacts(config, addresses);
  const { operatorsUrl, url } = addresses;
  return [
    `version   ${facts.version}`,
    `GraphQL   ${facts.url}  (open it in a browser for GraphiQL)`,
    ...(config.mcp.on ? [`agents    ${url}/mcp`] : []),
    ...(schemaAccess(config) === 'none' ? [] : [`schema    ${url}/schema.graphql`]),
    `console   ${operatorsUrl}/console`,
    `metrics   ${operatorsUrl}/metrics`,
    `links     ${facts.links}`,
    `market    ${facts.market}`,
    `callers   ${facts.callers}`,
    ...(facts.sandbox === undefined
      ? []
      : [
          `sandbox   ${facts.sandbox}`,
          'To simulate failures of a sandbox API, POST to /__faults at its URL; GET lists the kinds of faults.',
          'No upstream API is configured: the gateway serves sandbox data. Set LINKS_BASE_URL and LINKS_API_KEY,',
          'or MARKET_BASE_URL and MARKET_API_KEY, to use real APIs.',
        ]),
  ];
}

/** The same for a log. */
export function startFacts(
  { sandbox, links, market, auth }: Config,
  { operatorsUrl, sandbox: place, url }: Addresses,
): Readonly<
  Record<'version' | 'url' | 'links' | 'market' | 'callers', string> & {
    metrics?: string;
    sandbox?: string;
  }
> {
  return {
    version: manifest.version,
    url: `${url}/graphql`,
    links: upstream(links, sandbox),
    market: upstream(market, sandbox),
    callers: callers[auth.mode],
    ...(operatorsUrl === url ? {} : { metrics: `${operatorsUrl}/metrics` }),
    ...(place ? { sandbox: `${place.links.url} (links), ${place.market.url} (market)` } : {}),
  };
}

const callers: Readonly<Record<Config['auth']['mode'], string>> = {
  none: 'all clients that reach this port',
  token: 'token from AUTH_TOKENS_FILE',
  jwt: 'token of the identity provider',
  passthrough: 'API key of the link-management API',
};

function upstream(config: UpstreamConfig, sandbox: boolean): string {
  const { endpoint, rateLimit, rateWindowMs } = config;
  if (!endpoint && !sandbox) {
    return 'not configured: its fields fail with UPSTREAM_NOT_CONFIGURED';
  }
  const where = endpoint ? new URL(endpoint.baseUrl).host : 'embedded sandbox';
  return `${where}, at most ${rateLimit} requests per ${rateWindowMs / 1000} s`;
}
