import type { Spool } from './spool.ts';

/** The response of an endpoint or page: a string, Buffer or Spool is sent unchanged, anything else as JSON. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Thrown by an endpoint that rejects a request; the server converts it to the API's documented error format. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An answer with a JSON body. */
export function json(body: unknown, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
}

/** An answer with bytes or text of a given kind. */
export function raw(contentType: string, body: string | Buffer | Spool, status = 200): Answer {
  return { status, headers: { 'content-type': contentType }, body };
}

/** Escapes a text for HTML and SVG, as text or as a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#039;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Reverses `escapeHtml`, for texts that the seed contains escaped, as such installations store them. */
export function unescapeHtml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#039;', "'")
    .replaceAll('&amp;', '&');
}

/** A small HTML page around `content`, which must be HTML already. */
export function htmlPage(title: string, content: string, status = 200): Answer {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#22303c}
h1{font-size:1.5rem}img{max-width:100%;border-radius:8px}code{background:#f0f3f6;padding:.1em .3em}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
td,th{text-align:left;padding:.15rem .8rem .15rem 0}</style>`;
  return raw(
    'text/html; charset=utf-8',
    `<!doctype html><html lang="en"><head>${head}</head><body><h1>${escapeHtml(title)}</h1>${content}</body></html>`,
    status,
  );
}
