import { createHash } from 'node:crypto';
import { rangesNaming } from '../door/headers/accept.ts';
import type { Handler, Routes } from '../door/route.ts';
import { isReading, respond, sharedContent } from '../respond.ts';

/** What a visitor can open. */
interface LandingOptions {
  readonly console: boolean;
  readonly schema: boolean;
  /** Addresses of the embedded sandbox; `null` over real upstreams. */
  readonly sandbox: { readonly links: string; readonly market: string } | null;
}

interface LinkedPage {
  readonly name: string;
  readonly path: string;
  readonly about: string;
}

const TITLE = 'links-market-gateway';
const ABOUT = 'A GraphQL server in front of a link-management API and a marketplace API.';

const STYLE = `:root{color-scheme:light dark;--ground:#f5f6f8;--ink:#171b24;--soft:#566072;--accent:#2f5fd0}
@media (prefers-color-scheme:dark){:root{--ground:#0f1218;--ink:#e9ecf2;--soft:#a3adbd;--accent:#8db0ff}}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:40rem;margin:0 auto;padding:2rem 1rem}
h1{margin:0;font-size:1.5rem}
p{margin:.25rem 0 1.5rem;color:var(--soft)}
ul{margin:0 0 1.5rem;padding:0;list-style:none}
a{display:inline-flex;align-items:center;min-height:44px;color:var(--accent);font-weight:600}
span{display:block;color:var(--soft)}
code{overflow-wrap:anywhere}`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page at `/`: what this server is, and where its other pages are. Programs get the same as plain text. */
export function landingRoute(options: LandingOptions): Routes {
  const entries = entriesOf(options);
  const html = sharedContent('text/html; charset=utf-8', htmlOf(entries, options));
  const text = sharedContent('text/plain; charset=utf-8', textOf(entries, options));
  const answer: Handler = (request, response) => {
    if (!isReading(request, response)) return;
    const forPeople = rangesNaming(request.headers.accept, 'text/html').length > 0;
    respond(response, {
      status: 200,
      cacheControl: 'no-cache',
      vary: 'Accept',
      headers: { 'Content-Security-Policy': POLICY },
      content: forPeople ? html : text,
    });
  };
  return { '/': { answer, audience: 'callers' } };
}

function entriesOf({ console, schema }: LandingOptions): LinkedPage[] {
  return [
    {
      name: 'GraphiQL',
      path: '/graphql',
      about: 'Write and run operations, and see their cost.',
    },
    ...(console
      ? [
          {
            name: 'Console',
            path: '/console',
            about: 'Live view of rate limits, callers, waiting requests and failures.',
          },
        ]
      : []),
    ...(schema
      ? [
          {
            name: 'Schema',
            path: '/schema.graphql',
            about: 'Types and fields as SDL, for editors and code generators.',
          },
          {
            name: 'Client package',
            path: '/client.tgz',
            about: 'For frontends: npm i and this address.',
          },
        ]
      : []),
    { name: 'Health', path: '/readyz', about: 'Readiness, and what is degraded, as JSON.' },
  ];
}

const SANDBOX = 'No upstream API is configured: a sandbox on this machine serves sample data.';
const FAULTS = 'GET /__faults at either URL lists the failures that the API can simulate.';

function htmlOf(entries: readonly LinkedPage[], { sandbox }: LandingOptions): string {
  const items = entries.map(
    ({ about, name, path }) => `<li><a href="${path}">${name}</a><span>${about}</span></li>`,
  );
  const place = sandbox
    ? `<p>${SANDBOX} Link-management API: <code>${sandbox.links}</code>. Marketplace API: <code>${sandbox.market}</code>. ${FAULTS}</p>`
    : '';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${TITLE}</title><link rel="icon" href="data:,"><style>${STYLE}</style></head>
<body><main><h1>${TITLE}</h1><p>${ABOUT}</p><ul>${items.join('')}</ul>${place}</main></body></html>
`;
}

function textOf(entries: readonly LinkedPage[], { sandbox }: LandingOptions): string {
  const lines = entries.map(({ about, path }) => `${path.padEnd(18)}${about}`);
  const place = sandbox ? ['', SANDBOX, sandbox.links, sandbox.market, FAULTS] : [];
  return `${[TITLE, ABOUT, '', ...lines, ...place].join('\n')}\n`;
}
