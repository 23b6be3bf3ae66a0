import type { Endpoint } from './apis.ts';
import type { Config } from './config.ts';

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
  { auth, databaseUrl }: Pick<Config, 'auth' | 'databaseUrl'>,
  { links, market }: Endpoints,
): string[] {
  const shared = auth.mode === 'jwt' && 'secret' in auth.keys ? [auth.keys.secret] : [];
  const keys = [links, market].flatMap((endpoint) => endpoint?.apiKey ?? []);
  const database = databaseUrl === null ? [] : [databaseUrl, ...passwordIn(databaseUrl)];
  return [...shared, ...keys, ...database];
}

function passwordIn(url: string): string[] {
  const { password = '' } = URL.canParse(url) ? new URL(url) : {};
  return password === '' ? [] : [password, decodeURIComponent(password)];
}
