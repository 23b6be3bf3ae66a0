import { Refusal } from '../http/answer.ts';
import { runRoute } from '../http/router.ts';
import type { ApiDefinition } from '../http/server.ts';
import { linksPage } from '../pages/links.ts';
import { accountRoutes } from './account.ts';
import { fileRoutes } from './assets/files.ts';
import { overlayRoutes, splashRoutes } from './assets/overlays.ts';
import { pixelRoutes } from './assets/pixels.ts';
import { qrRoutes } from './assets/qr.ts';
import { campaignRoutes } from './campaigns.ts';
import { channelRoutes } from './channels.ts';
import type { LinksRoutes } from './context.ts';
import { domainRoutes } from './domains.ts';
import { planRoutes } from './plans.ts';
import type { LinksStore } from './store.ts';
import { userRoutes } from './users.ts';

const ROUTES: LinksRoutes = {
  ...accountRoutes,
  ...domainRoutes,
  ...overlayRoutes,
  ...campaignRoutes,
  ...channelRoutes,
  ...splashRoutes,
  ...fileRoutes,
  ...pixelRoutes,
  ...qrRoutes,
  ...planRoutes,
  ...userRoutes,
};

/** The link API over its store. Implements: Link API > Endpoints, Authentication, Errors. */
export function linksApi(store: LinksStore): ApiDefinition {
  const owner = (key: string | undefined) => store.users.find((user) => user.apikey === key);
  return {
    parse({ path, bytes, spool }) {
      if (path.startsWith('/api/files/upload/'))
        return { body: undefined, logged: spool?.size ?? bytes.length };
      const body = parseJson(bytes);
      return { body, logged: body };
    },
    credential: ({ headers }) => /^Bearer +(\S+)$/i.exec(headers['authorization'] ?? '')?.[1],
    // All unknown keys share one limit, so that guesses are limited too.
    bucket: (key) => (owner(key) ? `key ${key}` : 'unknown'),
    failure: (message, inBody) => ({ error: inBody ? 429 : 1, message }),
    run(request, key) {
      const account = owner(key);
      if (key === undefined) throw new Refusal(401, 'An API key is required');
      if (!account) throw new Refusal(401, 'The API key is not valid');
      if (account.keyExpired) throw new Refusal(401, 'The API key has expired');
      return runRoute(ROUTES, request, { store, account, request });
    },
    page: (request) => linksPage(store, request, Object.keys(ROUTES)),
  };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
