import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { printGraph } from '../graph/directives/print-graph.ts';
import type { Admission } from '../http/door/admission.ts';
import type { Route, Routes } from '../http/door/route.ts';
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
  /** The package for frontends, which contains the schema. */
  readonly clientPackage: () => PlainAnswer;
}

/**
 * `GET /schema.graphql` answers the graph as SDL, for code generators and editors, with the directives on fields that
 * introspection leaves out; `GET /client.tgz` the package for frontends. Both to callers who may ask for the schema by
 * introspection. 0 upstream calls, and 1 at most to find out whether a caller's own key is accepted.
 */
export function schemaRoutes(options: SchemaPageOptions): Routes {
  let printed: Content | undefined;
  const print = (): PlainAnswer => {
    printed ??= sharedContent('text/plain; charset=utf-8', printGraph(options.schema));
    return { status: 200, content: printed };
  };
  const route = (make: () => PlainAnswer): Route => ({
    audience: 'callers',
    answer(request, response, admission) {
      if (request.method === 'OPTIONS') {
        const headers = admission.preflightHeaders('GET');
        respond(response, { status: 204, headers });
      } else if (isReading(request, response, ', OPTIONS')) {
        inBackground(answer(admission, options, make).then((made) => respond(response, made)));
      }
    },
  });
  return { '/schema.graphql': route(print), '/client.tgz': route(options.clientPackage) };
}

async function answer(
  admission: Admission,
  { access, accepted, maskError }: SchemaPageOptions,
  make: () => PlainAnswer,
): Promise<PlainAnswer> {
  try {
    admission.refuseForeign();
    const viewer = await admission.identify();
    await requireSchemaAccess(viewer, access, accepted);
    return { cacheControl: 'private, no-cache', ...make() };
  } catch (error) {
    return errorAnswer(maskError(error));
  }
}
