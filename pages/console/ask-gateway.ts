/** A response that is not what the console asks for; its message is for the reader of the page. */
export class Refusal extends Error {}

const refusals: Readonly<Record<number, string>> = {
  401: 'The token is not valid.',
  403: 'The gateway shows the console only to requests from its own machine.',
};

/**
 * Requests a path of the gateway; with a `body`, posts it as JSON. An empty `token` means that none is sent.
 * @throws Refusal if the response has another content type, or the gateway refuses the request.
 */
export async function askGateway(
  path: string,
  type: string,
  token: string,
  { body, signal }: { readonly body?: object; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const headers = new Headers({ accept: type });
  if (token) headers.set('authorization', `Bearer ${token}`);
  if (body) headers.set('content-type', 'application/json');
  const response = await fetch(path, {
    headers,
    cache: 'no-store',
    ...(signal && { signal }),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  if (response.ok && response.headers.get('content-type')?.startsWith(type)) return response;
  throw new Refusal(
    (await reasonIn(response)) ??
      refusals[response.status] ??
      `The gateway returned status ${response.status}.`,
  );
}

/**
 * Executes a mutation with the field `field` for one id.
 * @throws Refusal if the gateway refuses it.
 */
export async function turn(field: string, id: string, token: string): Promise<void> {
  const query = `mutation($id: ID!) { ${field}(id: $id) { id } }`;
  const body = { query, variables: { id } };
  const response = await askGateway('./graphql', 'application/json', token, { body });
  const { errors } = (await response.json()) as ErrorsOf;
  if (errors?.[0]) throw new Refusal(errors[0].message);
}

interface ErrorsOf {
  readonly errors?: readonly { readonly message?: string }[];
}

/** The message of a GraphQL error in a response; 401 and 403 have texts of their own. */
async function reasonIn(response: Response): Promise<string | null> {
  if (response.status in refusals || response.ok) return null;
  const body: unknown = await response.json().catch(() => null);
  const { errors } = (body ?? {}) as ErrorsOf;
  return errors?.[0]?.message ?? null;
}
