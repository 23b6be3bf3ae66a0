import react from '@vitejs/plugin-react';
import { type Connect, defineConfig, type Plugin } from 'vite';

/**
 * Answers `/settings.json` with what the environment says, so that one build runs against any gateway. What
 * serves the built files elsewhere puts a file of that name beside them.
 */
function settings(): Plugin {
  const { GATEWAY_URL, GATEWAY_TOKEN, NEIGHBOUR_TOKEN, SANDBOX_LINKS_URL, SANDBOX_MARKET_URL } =
    process.env;
  const body = JSON.stringify({
    gateway: GATEWAY_URL ?? 'http://localhost:4000',
    token: GATEWAY_TOKEN ?? null,
    neighbourToken: NEIGHBOUR_TOKEN ?? null,
    sandbox: SANDBOX_LINKS_URL ? { links: SANDBOX_LINKS_URL, market: SANDBOX_MARKET_URL } : null,
  });
  const answer = ({ middlewares }: { middlewares: Connect.Server }): void => {
    middlewares.use('/settings.json', (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.setHeader('cache-control', 'no-store');
      response.end(body);
    });
  };
  return { name: 'settings', configureServer: answer, configurePreviewServer: answer };
}

export default defineConfig({
  plugins: [react(), settings()],
  // Here the package for frontends is a link to its sources.
  server: { fs: { allow: ['.', '../../client'] } },
  build: { target: 'es2022', modulePreload: { polyfill: false } },
});
