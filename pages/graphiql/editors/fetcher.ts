import type { Fetcher, FetcherReturnType } from '@graphiql/toolkit';
import { type DocumentNode, Kind, type OperationDefinitionNode, parse } from 'graphql';
import { byId } from '../../dom.ts';
import { complaintsOf, wantsToken } from '../answer.ts';
import { type Asked, ask } from '../ask.ts';
import type { Page } from '../page.ts';
import type { Files } from './files.ts';

/** What the editors hold now. */
export interface Latest {
  /** The tab that is open. */
  tab: string;
  /** The paths of its variables that take a file. */
  paths: readonly string[];
}

/** How GraphiQL asks: for the schema, and for everything else by way of the strip. */
export function createFetcher(page: Page, files: Files, latest: Latest): Fetcher {
  return (params, options) => {
    const headers = (options?.headers ?? {}) as Record<string, string>;
    const document = parsed(params.query);
    // GraphiQL needs a moment to notice a new text, and would send the name of the operation before.
    const operation = operationOf(document, params.operationName) ?? operationOf(document, null);
    const asked: Asked = {
      query: params.query,
      operationName: operation?.name?.value ?? null,
      ...(params.variables && { variables: params.variables as Record<string, unknown> }),
    };
    if (params.operationName === 'IntrospectionQuery') return schemaFor(page, asked, headers);
    return page.run({
      tab: latest.tab,
      asked,
      headers,
      files: files.chosen(latest.tab, latest.paths),
      live: operation?.directives?.some(({ name }) => name.value === 'live') ?? false,
    }) as FetcherReturnType;
  };
}

/** The operation of a document that has this name, or its only one. */
export function operationOf(
  document: DocumentNode | undefined,
  name: string | null | undefined,
): OperationDefinitionNode | undefined {
  const operations = (document?.definitions ?? []).filter(
    (each) => each.kind === Kind.OPERATION_DEFINITION,
  );
  return name ? operations.find((each) => each.name?.value === name) : operations[0];
}

/** `undefined` for what the gateway is to complain about. */
function parsed(query: string): DocumentNode | undefined {
  try {
    return parse(query);
  } catch {
    return undefined;
  }
}

/** GraphiQL shows as they are what it gets in the place of a schema: words of ours stand elsewhere. */
const nothing = '' as unknown as Awaited<FetcherReturnType>;

async function schemaFor(
  page: Page,
  asked: Asked,
  headers: Record<string, string>,
): Promise<Awaited<FetcherReturnType>> {
  // It asks again in another way where it gets none.
  if (!asked.query.includes('subscriptionType {')) return nothing;
  const notice = byId('notice');
  const manner = {
    headers: { ...page.token.headers, ...headers },
    signal: AbortSignal.timeout(60_000),
  };
  for await (const answer of ask(asked, manner)) {
    const complaints = complaintsOf(answer);
    page.token.judge(complaints);
    const reason = wantsToken(complaints) || answer.data ? undefined : complaints[0]?.message;
    notice.hidden = reason === undefined;
    notice.textContent = reason
      ? `You can run operations, but completion and documentation are not available: ${reason}`
      : '';
    return answer.data ? (answer as Awaited<FetcherReturnType>) : nothing;
  }
  return nothing;
}
