import { once } from 'node:events';
import { connect } from 'node:net';

/** A request as a proxy on this machine passes it on: its version of HTTP, and what it adds to the headers. */
export interface PassedOn {
  readonly by: string;
  readonly version: '1.0' | '1.1';
  readonly headers: Readonly<Record<string, string>>;
}

const CLIENT = '203.0.113.9';
const OUTSIDE = 'gateway.example';

const http11 = (by: string, headers: Readonly<Record<string, string>>): PassedOn => {
  return { by, version: '1.1', headers };
};

/** What proxies and networks send if nothing is configured but the address of the gateway, or as their manuals advise. */
export const proxies: readonly PassedOn[] = [
  { by: 'nginx before 1.29.7', version: '1.0', headers: { Connection: 'close' } },
  http11('nginx, an upstream group with a name', { Host: 'gateway' }),
  http11('nginx as many guides show it', { 'X-Real-IP': CLIENT }),
  http11('ingress-nginx', { 'X-Request-ID': 'a1', 'X-Scheme': 'https' }),
  http11('Apache', { 'X-Forwarded-Server': OUTSIDE }),
  http11('Apache, ProxyVia', { Via: '1.1 gateway.example' }),
  http11('HAProxy', { Host: OUTSIDE }),
  http11('HAProxy, forwardfor', { 'X-Forwarded-For': CLIENT }),
  http11('HAProxy, forwarded', { Forwarded: 'proto=http;for=203.0.113.9' }),
  http11('Envoy', { 'x-request-id': 'a1', 'x-envoy-expected-rq-timeout-ms': '15000' }),
  http11('Envoy, at the edge', { 'x-forwarded-proto': 'https' }),
  http11('Traefik', { 'X-Forwarded-Host': OUTSIDE, 'X-Forwarded-Port': '443' }),
  http11('Traefik, headers of its own', { 'X-Real-Ip': CLIENT }),
  http11('Caddy', { Via: '1.1 Caddy' }),
  http11('Cloudflare', { 'CF-Connecting-IP': CLIENT }),
  http11('Cloudflare, IPv6', { 'CF-Connecting-IPv6': '2001:db8::7', 'Cf-Pseudo-IPv4': CLIENT }),
  http11('Cloudflare, visitor', { 'CF-IPCountry': 'DE', 'CF-Visitor': '{"scheme":"https"}' }),
  http11('Cloudflare, Enterprise', { 'True-Client-IP': CLIENT }),
  http11('Cloudflare, loops', { 'CDN-Loop': 'cloudflare; loops=1' }),
  http11('AWS ALB', { 'X-Amzn-Trace-Id': 'Root=1-67891233' }),
  http11('CloudFront', { 'X-Amz-Cf-Id': 'a1', 'CloudFront-Viewer-Address': CLIENT }),
  http11('Akamai', { 'Akamai-Origin-Hop': '2' }),
  http11('Akamai, edge', { 'X-Akamai-Edgescape': 'x', 'X-Akamai-Config-Log-Detail': 'true' }),
  http11('Fastly', { 'Fastly-FF': 'x', 'Fastly-SSL': '1' }),
  http11('Fastly, client', { 'Fastly-Client-IP': CLIENT }),
  http11('Varnish', { 'X-Varnish': '32770' }),
  http11('Fly', { 'Fly-Client-IP': CLIENT, 'Fly-Region': 'fra' }),
  http11('ngrok', { 'X-Forwarded-Proto': 'https' }),
  http11('Heroku', { 'X-Request-Start': '1700000000000', Via: '1.1 vegur' }),
  http11('Google Cloud', { 'X-Cloud-Trace-Context': 'a/1', Via: '1.1 google' }),
  http11('App Engine', { 'X-AppEngine-User-IP': CLIENT }),
  http11('Azure App Service', { 'CLIENT-IP': CLIENT, 'DISGUISED-HOST': OUTSIDE }),
  http11('Azure Front Door', { 'X-Azure-ClientIP': CLIENT, 'X-Azure-SocketIP': CLIENT }),
  http11('Azure Front Door, id', { 'X-Azure-FDID': 'a1' }),
  http11('IIS with ARR', { 'X-ARR-LOG-ID': 'a1', 'X-Original-URL': '/console' }),
  http11('IIS, TRACE and OPTIONS', { 'Max-Forwards': '10' }),
  http11('Sucuri', { 'X-Sucuri-ClientIP': CLIENT }),
  http11('Imperva', { 'Incap-Client-IP': CLIENT }),
  http11('Alibaba', { 'Ali-CDN-Real-IP': CLIENT }),
  http11('DigitalOcean', { 'DO-Connecting-IP': CLIENT }),
  http11('Vercel', { 'X-Vercel-Id': 'fra1::a1' }),
  http11('Netlify', { 'X-NF-Client-Connection-IP': CLIENT }),
  http11('Railway', { 'X-Railway-Edge': 'fra' }),
  http11('Tailscale', { 'Tailscale-User-Login': 'a@example.com' }),
  http11('GitHub Codespaces and dev tunnels', { 'X-Original-Host': OUTSIDE }),
  http11('WebLogic', { 'WL-Proxy-Client-IP': CLIENT, 'WL-Proxy-SSL': 'true' }),
  http11('Kong', { 'X-Forwarded-Prefix': '/' }),
  http11('Microsoft', { 'Front-End-Https': 'on' }),
  http11('a client with a proxy set', { 'Proxy-Connection': 'keep-alive' }),
  ...[
    'X-HTTP-Forwarded-For',
    'HTTP-X-Forwarded-For',
    'HTTP-Forwarded',
    'X-Forward-For',
    'X-Forwarded',
    'X-Forwarded-By',
    'X-Original-Forwarded-For',
    'X_Forwarded_For',
    'HTTP-Client-IP',
    'X-Client-IP',
    'X-ClientIP',
    'X-Cluster-Client-IP',
    'X-Originating-IP',
    'X-Remote-IP',
    'X-Remote-Addr',
    'Remote-Addr',
    'X-Host',
    'X-HTTP-Host-Override',
    'X-Forwarded-SSL',
    'X-Url-Scheme',
    'X-ProxyUser-Ip',
    'HTTP-Via',
    'X-Via',
    'X-Rewrite-URL',
    'SSL-Client-Verify',
    'X-SSL-Client-Cert',
  ].map((name) => http11(`a proxy with ${name}`, { [name]: CLIENT })),
];

/** Headers that programs and browsers of this machine send themselves. */
export const usualHeaders: readonly string[] =
  `accept accept-charset accept-encoding accept-language apollographql-client-name baggage cache-control content-type
  cookie dnt if-match if-none-match pragma prefer priority range referer save-data sec-ch-ua sec-ch-ua-platform
  sec-fetch-dest sec-fetch-mode sec-gpc te traceparent tracestate upgrade-insecure-requests user-agent
  x-apollo-operation-name x-b3-traceid x-client-version x-correlation-id x-csrf-token x-gateway-dry-run
  x-prometheus-scrape-timeout-seconds x-request-id x-requested-with x-zip x-description x-ownership`.split(
    /\s+/,
  );

/** The status of the response to a request as it is written here, on a connection of its own. */
export async function statusOf(asked: {
  readonly url: string;
  readonly path: string;
  readonly version: '1.0' | '1.1';
  readonly headers: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
}): Promise<number> {
  const { body = '', headers, method = 'GET', path, url, version } = asked;
  const { host, hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const usual = { Host: host, 'Content-Length': String(body.length) };
  const lines = Object.entries({ ...usual, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n${body}`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(first.toString())?.[1]);
}
