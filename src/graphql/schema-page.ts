import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { printGraph } from '../graph/directives/print-graph.ts';
import type { Admission } from '../http/door/admission.ts';
import {
  type Content,
  errorAnswer,
  isReading,
  type PlainAnswer,
  respond,
  sharedContent,
} from '../http/respond.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { MaskError } from './mask-error.ts';
import { requireSchemaAccess, type SchemaAccess } from './schema-access.ts';

interface SchemaPageOptions {
  readonly schema: GraphQLSchema;
  readonly access: SchemaAccess;
  /** Resolves for a caller whose own key the link-management API accepts: 0 or 1 upstream call. */
  readonly accepted: (viewer: Viewer) => Promise<void>;
  readonly maskError: MaskError;
}

/** Handles `/schema.graphql`. Never rejects. */
export type SchemaPage = (
  request: IncomingMessage,
  response: ServerResponse,
  admission: Admission,
) => void;

/**
 * `GET /schema.graphql` answers the graph as SDL, for code generators and editors: to callers who may ask for it by
 * introspection, and with the directives on fields that introspection leaves out. 0 upstream calls, and 1 at most to
 * find out whether a caller's own key is accepted.
 */
export function createSchemaPage(options: SchemaPageOptions): SchemaPage {
  let printed: Content | undefined;
  const print = (): Content => {
    printed ??= sharedContent('text/plain; charset=utf-8', printGraph(options.schema));
    return printed;
  };
  return (request, response, admission) => {
    if (request.method === 'OPTIONS') {
      const headers = admission.preflightHeaders('GET');
      respond(response, { status: 204, headers });
    } else if (isReading(request, response, ', OPTIONS')) {
      inBackground(answer(admission, options, print).then((made) => respond(response, made)));
    }
  };
}

async function answer(
  admission: Admission,
  { access, accepted, maskError }: SchemaPageOptions,
  print: () => Content,
): Promise<PlainAnswer> {
  try {
    admission.refuseForeign();
    const viewer = await admission.identify();
    await requireSchemaAccess(viewer, access, accepted);
    return { status: 200, cacheControl: 'private, no-cache', content: print() };
  } catch (error) {
    return errorAnswer(maskError(error));
  }
}
