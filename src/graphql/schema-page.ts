import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import { inBackground } from '../at-once.ts';
import { GatewayError } from '../errors.ts';
import { printGraph } from '../graph/directives/print-graph.ts';
import type { Callers } from '../http/door/caller.ts';
import { etagOfText, holdsETag } from '../http/door/etag.ts';
import { headerOf, type Origins } from '../http/door/origins.ts';
import { headOf, type MaskError } from './mask-error.ts';

interface SchemaPageOptions {
  readonly schema: GraphQLSchema;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  readonly callers: Callers;
  readonly origins: Origins;
  readonly maskError: MaskError;
}

/** Answers `/schema.graphql`. Never rejects. */
export type SchemaPage = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * `GET /schema.graphql` answers the graph as SDL, for code generators and editors: to whoever may ask for it by
 * introspection, and with the directives on fields that introspection leaves out. 0 upstream calls.
 */
export function createSchemaPage(options: SchemaPageOptions): SchemaPage {
  let printed: { readonly text: string; readonly etag: string } | undefined;
  const print = () => {
    const text = printed?.text ?? printGraph(options.schema);
    printed ??= { text, etag: etagOfText(text) };
    return printed;
  };
  return (request, response) => {
    if (request.method === 'OPTIONS') {
      response.writeHead(204, options.origins.preflightHeaders(headerOf(request), 'GET')).end();
    } else if (request.method === 'GET' || request.method === 'HEAD') {
      inBackground(answer(request, response, options, print));
    } else {
      response.setHeader('Allow', 'GET, HEAD, OPTIONS');
      send(response, 405, 'text/plain', 'Only GET and HEAD are understood here.\n');
    }
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { callers, introspection, maskError, origins }: SchemaPageOptions,
  print: () => { readonly text: string; readonly etag: string },
): Promise<void> {
  try {
    origins.refuseForeign(headerOf(request));
    await callers.identify(request.headers.authorization, request);
    if (!introspection) throw notTold();
    const { etag, text } = print();
    response.setHeader('Cache-Control', 'private, no-cache');
    response.setHeader('ETag', etag);
    if (holdsETag(request.headers['if-none-match'] ?? null, etag)) response.writeHead(304).end();
    else send(response, 200, 'text/plain', text);
  } catch (error) {
    const masked = maskError(error);
    const { code } = masked.extensions;
    const { headers = {}, status = 500 } = headOf(masked);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('Cache-Control', 'no-store');
    const body = JSON.stringify({ errors: [{ message: masked.message, extensions: { code } }] });
    send(response, status, 'application/json', body);
  }
}

function notTold(): GatewayError {
  return new GatewayError(
    'FORBIDDEN',
    'This gateway does not tell its schema. INTROSPECTION=true allows it.',
  );
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': `${type}; charset=utf-8` }).end(body);
}
