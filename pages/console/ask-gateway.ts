/** A response that is not what the console asks for; its message is for the reader of the page. */
export class Refusal extends Error {}

const refusals: Readonly<Record<number, string>> = {
  401: 'The token is not valid.',
  403: 'The gateway shows the console only to requests from its own machine.',
};

/**
 * Requests a path of the gateway. An empty `token` means that none is sent.
 * @throws Refusal if the response has another content type, or the gateway refuses the request.
 */
export async function askGateway(
  path: string,
  type: string,
  token: string,
  signal: AbortSignal,
): Promise<Response> {
  const headers = new Headers({ accept: type });
  if (token) headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(path, { headers, cache: 'no-store', signal });
  if (response.ok && response.headers.get('content-type')?.startsWith(type)) return response;
  throw new Refusal(
    (await reasonIn(response)) ??
      refusals[response.status] ??
      `The gateway returned status ${response.status}.`,
  );
}

/** The message of a GraphQL error in a response; 401 and 403 have texts of their own. */
async function reasonIn(response: Response): Promise<string | null> {
  if (response.status in refusals || response.ok) return null;
  const body: unknown = await response.json().catch(() => null);
  const { errors } = (body ?? {}) as { errors?: readonly { readonly message?: string }[] };
  return errors?.[0]?.message ?? null;
}
