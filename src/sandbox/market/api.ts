import { json, Refusal } from '../http/answer.ts';
import { type Routes, runRoute, type SandboxRequest } from '../http/router.ts';
import type { ApiDefinition } from '../http/server.ts';
import { marketPage } from '../pages/market.ts';
import type { MarketStore, Seller } from './store.ts';

interface MarketContext {
  readonly seller: Seller;
  /** A parameter of the query or the body. */
  readonly parameter: (name: string) => string | undefined;
}

const success = (members: Record<string, unknown>) => json({ status: 'success', ...members });

const ROUTES: Routes<MarketContext> = {
  // Implements: Marketplace API > Account details.
  'GET /api/account/details': ({ seller }) => success({ data: seller.details }),
  // Implements: Marketplace API > All items.
  'GET /api/items/all': ({ seller }) => {
    if (seller.items.length === 0) throw new Refusal(404, 'No items found');
    return success({ items: seller.items });
  },
  // Implements: Marketplace API > Single item.
  'GET /api/items/item': ({ seller, parameter }) => {
    const item = seller.items.find(({ id }) => String(id) === parameter('item_id'));
    if (!item) throw new Refusal(404, 'Item Not Found');
    return success({ item });
  },
  // Implements: Marketplace API > Purchase validation.
  'POST /api/purchases/validation': ({ seller, parameter }) => {
    const code = parameter('purchase_code')?.trim().toLowerCase();
    const purchase = seller.purchases.find(({ purchase_code }) => purchase_code === code);
    if (!purchase) throw new Refusal(404, 'Invalid purchase code');
    return success({ data: { purchase } });
  },
};

/** The marketplace API over its store. Implements: Marketplace API > Endpoints, Authentication. */
export function marketApi(store: MarketStore): ApiDefinition {
  const owner = (key: string | undefined) => store.sellers.find((seller) => seller.key === key);
  return {
    parse({ headers, bytes }) {
      const body = parseBody(headers['content-type'] ?? '', bytes);
      return { body, logged: body };
    },
    credential: (request) => find(request, 'api_key'),
    bucket: (key) => (owner(key) ? `key ${key}` : 'unknown'),
    failure: (message) => ({ status: 'error', msg: message }),
    run(request, key) {
      return runRoute(ROUTES, request, {
        // Checked by the endpoint: one that does not exist is reported first.
        get seller() {
          const seller = owner(key);
          if (!seller) throw new Refusal(401, 'Invalid request');
          return seller;
        },
        parameter: (name) => find(request, name),
      });
    },
    page: (request) => marketPage(store, request, Object.keys(ROUTES)),
  };
}

/** The documentation does not define the encoding of POST parameters: query, JSON and form are accepted. */
function find(request: SandboxRequest, name: string): string | undefined {
  const body = request.method === 'POST' ? request.body : undefined;
  const inBody =
    typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  const simple = typeof inBody === 'string' || typeof inBody === 'number';
  return simple ? String(inBody) : request.query[name];
}

function parseBody(type: string, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = bytes.toString('utf8');
  if (type.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(text));
  if (type.startsWith('multipart/form-data')) return parseMultipart(text);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Text fields of a multipart form, in which many HTTP clients send plain fields. */
function parseMultipart(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(
    /name="([^"]+)"(?:\r\n[^\r\n]+)*\r\n\r\n([\s\S]*?)\r\n--/g,
  ))
    fields[name] = value;
  return fields;
}
