import { type Configuration, PERSISTED_ID } from './gateways.ts';
import type { Peer } from './peers.ts';
import {
  BY_ID,
  DASHBOARD,
  get,
  type Headers,
  otherAliases,
  otherIds,
  otherOrigin,
  plain,
  post,
  sameOrigin,
} from './requests.ts';

/** What a row should come to. */
interface Targets {
  /** Answers a second over those of bare node, at least. */
  readonly ratio?: number;
  /** Milliseconds, at most. */
  readonly p99?: number;
  /** The slowest over the usual, at most. */
  readonly p99OverP50?: number;
  /** Bytes of the body over those of the same answer uncompressed, at most. */
  readonly bytes?: number;
}

/** One kind of request to one kind of server. */
export interface RowPlan {
  /** By whose beginning `ROWS` selects it. */
  readonly name: string;
  /** What the figure measures, for readers who have not read the bench. */
  readonly label: string;
  readonly of: Configuration | { readonly peer: Peer };
  readonly targets?: Targets;
  readonly status?: number;
  /** Makes the requests; `ids` are those of all channels. */
  readonly requests: (world: World) => () => string;
}

/** What requests are made of. */
interface World {
  readonly ids: readonly string[];
  /** Headers by which the caller is known. */
  readonly auth: Headers;
  /** Of the dashboard. */
  readonly etag: string;
}

/** The dashboard again and again, with these headers. */
const dashboard =
  (headers: Headers) =>
  ({ auth }: World) => {
    const request = post({ ...headers, ...auth }, DASHBOARD);
    return () => request;
  };

const byVariables =
  (headers: Headers, query: string) =>
  ({ ids, auth }: World) => {
    const other = otherIds(ids);
    return () => post({ ...headers, ...auth }, query, other());
  };

/** All rows. Those that are asked for the same way stand together, to be compared within a few seconds. */
export const rowPlans: readonly RowPlan[] = [
  {
    name: 'plain',
    label: 'repeated, plain headers',
    of: 'open',
    targets: { ratio: 0.8 },
    requests: dashboard(plain),
  },
  {
    name: 'info',
    label: 'repeated, LOG_LEVEL=info',
    of: 'info',
    targets: { ratio: 0.5 },
    requests: dashboard(plain),
  },
  {
    name: 'yoga',
    label: 'Yoga alone, plain headers',
    of: { peer: 'yoga' },
    requests: dashboard(plain),
  },
  {
    name: 'yoga-cache',
    label: 'Yoga, its response cache, plain headers',
    of: { peer: 'yoga-cache' },
    requests: dashboard(plain),
  },
  {
    name: 'apollo-cache',
    label: 'Apollo Server, its response cache, plain headers',
    of: { peer: 'apollo-cache' },
    requests: dashboard(plain),
  },
  {
    name: 'browser-other',
    label: 'repeated, Chromium’s headers, other origin',
    of: 'open',
    targets: { ratio: 0.65 },
    requests: dashboard(otherOrigin),
  },
  {
    name: 'browser-same',
    label: 'repeated, Chromium’s headers, same origin',
    of: 'open',
    targets: { ratio: 0.7 },
    requests: dashboard(sameOrigin),
  },
  {
    name: 'yoga-browser',
    label: 'Yoga alone, Chromium’s headers, other origin',
    of: { peer: 'yoga' },
    requests: dashboard(otherOrigin),
  },
  {
    name: 'yoga-cache-browser',
    label: 'Yoga, its response cache, Chromium’s headers, other origin',
    of: { peer: 'yoga-cache' },
    requests: dashboard(otherOrigin),
  },
  {
    name: 'apollo-cache-browser',
    label: 'Apollo Server, its response cache, Chromium’s headers, other origin',
    of: { peer: 'apollo-cache' },
    requests: dashboard(otherOrigin),
  },
  {
    name: 'jwt-secret',
    label: 'repeated, JWT signed with a secret (HS256)',
    of: 'jwt-secret',
    targets: { ratio: 0.65 },
    requests: dashboard(plain),
  },
  {
    name: 'jwt-keys',
    label: 'repeated, JWT signed with a provider’s key (RS256)',
    of: 'jwt-keys',
    targets: { ratio: 0.65 },
    requests: dashboard(plain),
  },
  {
    name: 'token',
    label: 'repeated, token',
    of: 'token',
    targets: { ratio: 0.75 },
    requests: dashboard(plain),
  },
  {
    name: 'persisted',
    label: 'repeated, persisted id by GET',
    of: 'persisted',
    targets: { ratio: 0.75 },
    requests: () => {
      const request = get(plain, { documentId: PERSISTED_ID });
      return () => request;
    },
  },
  {
    name: 'brotli',
    label: 'repeated, brotli',
    of: 'open',
    targets: { ratio: 0.5, bytes: 0.2 },
    requests: dashboard({ ...plain, 'accept-encoding': 'br' }),
  },
  {
    name: 'etag',
    label: 'a GET with a current ETag',
    of: 'open',
    status: 304,
    requests: ({ etag }) => {
      const request = get({ ...plain, 'if-none-match': etag }, { query: DASHBOARD });
      return () => request;
    },
  },
  {
    name: 'variables-plain',
    label: 'other variables, plain headers, three channels by variables',
    of: 'open',
    requests: byVariables(plain, BY_ID),
  },
  {
    name: 'variables-apollo',
    label: 'Apollo Server, other variables',
    of: { peer: 'apollo-cache' },
    requests: byVariables(plain, BY_ID),
  },
  {
    name: 'text-aliases',
    label: 'new query texts, other names in the response',
    of: 'open',
    requests: () => {
      const other = otherAliases();
      return () => post(plain, other());
    },
  },
  {
    name: 'text-apollo',
    label: 'Apollo Server, new query texts',
    of: { peer: 'apollo-cache' },
    requests: () => {
      const other = otherAliases();
      return () => post(plain, other());
    },
  },
  {
    name: 'prefer',
    label: 'repeated, Prefer: wait=5',
    of: 'open',
    targets: { ratio: 0.65, p99OverP50: 4 },
    requests: dashboard({ ...plain, prefer: 'wait=5' }),
  },
  {
    name: 'slow',
    label: 'the slow path (Content-Encoding)',
    of: 'open',
    targets: { ratio: 0.06, p99OverP50: 4 },
    requests: dashboard({ ...plain, 'content-encoding': 'identity' }),
  },
];
