import type { UpstreamName } from '../errors.ts';
import type { Config, Endpoint, UpstreamConfig } from './config.ts';

/** The endpoints of both APIs; `null` for one that is not configured. */
export interface Endpoints {
  readonly links: Endpoint | null;
  readonly market: Endpoint | null;
}

/** An API of the embedded sandbox, which makes up a key. */
interface SandboxApi {
  readonly url: string;
  readonly key: string;
}

/** The configured endpoints, or those of the sandbox. */
export function endpointsOf(
  config: Pick<Config, 'links' | 'market'>,
  sandbox: { readonly links: SandboxApi; readonly market: SandboxApi } | null,
): Endpoints {
  if (!sandbox) return { links: config.links.endpoint, market: config.market.endpoint };
  const { links, market } = sandbox;
  return {
    links: { baseUrl: links.url, apiKey: links.key },
    market: { baseUrl: market.url, apiKey: market.key },
  };
}

/** The values that must never appear in a log or a response. */
export function secretsOf(
  { auth, redis }: Pick<Config, 'auth' | 'redis'>,
  { links, market }: Endpoints,
): string[] {
  const shared = auth.mode === 'jwt' && 'secret' in auth.keys ? [auth.keys.secret] : [];
  const keys = [links, market].flatMap((endpoint) => endpoint?.apiKey ?? []);
  // As it is written in the URL and as it is sent.
  const passwords = (redis?.urls ?? []).flatMap((url) => {
    const { password } = new URL(url);
    return [password, decodeURIComponent(password)];
  });
  return [...shared, ...keys, ...(redis ? [redis.secret] : []), ...passwords];
}

/** An upstream that is configured, with all that its budgets depend on. */
export interface ConfiguredUpstream {
  readonly name: UpstreamName;
  readonly baseUrl: string;
  /** Empty if callers bring their own keys. */
  readonly apiKey: string;
  readonly limits: UpstreamConfig;
}

/** The upstreams that are configured. */
export function configuredUpstreams(
  config: Pick<Config, 'links' | 'market'>,
  { links, market }: Endpoints,
): ConfiguredUpstream[] {
  const upstreams: ConfiguredUpstream[] = [];
  if (links) {
    const { apiKey, baseUrl } = links;
    upstreams.push({ name: 'LINKS', baseUrl, apiKey, limits: config.links });
  }
  if (market) {
    const { apiKey, baseUrl } = market;
    upstreams.push({ name: 'MARKET', baseUrl, apiKey, limits: config.market });
  }
  return upstreams;
}
