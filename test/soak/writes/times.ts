/** How much faster than usual time passes: all times below are the defaults of the gateway, divided by it. */
const SPEED = 20;

/** Requests that a window allows, as documented. */
export const LIMIT = 30;
export const WINDOW_MS = 60_000 / SPEED;
/** How long a request of the gateway may take. */
const TIMEOUT_MS = 10_000 / SPEED;
/** From the end of a connection until its request is applied, for the fault `late`. */
export const LATE_MS = 3000 / SPEED;

/** The settings of a gateway on an upstream. */
export function settings(upstream: { readonly url: string; readonly key: string }) {
  return {
    PORT: '0',
    AUTH_MODE: 'none',
    LINKS_BASE_URL: upstream.url,
    LINKS_API_KEY: upstream.key,
    LINKS_RATE_LIMIT: String(LIMIT),
    LINKS_RATE_WINDOW_MS: String(WINDOW_MS),
    LINKS_TIMEOUT_MS: String(TIMEOUT_MS),
    MARKET_RATE_WINDOW_MS: String(WINDOW_MS),
    MARKET_TIMEOUT_MS: String(TIMEOUT_MS),
    MAX_WAIT_MS: String(10_000 / SPEED),
    LOG_LEVEL: 'debug',
  };
}
