import type { ServerResponse } from 'node:http';

/** For every answer. A page that must do more than be looked at brings a policy of its own. */
export const securityHeaders = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  // Pages that CORS lets read an answer are not concerned.
  ['Cross-Origin-Resource-Policy', 'same-origin'],
] as const;

/** Tells browsers to trust nothing about an answer. */
export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of securityHeaders) response.setHeader(name, value);
}
