/** A result of a tool. */
export interface ToolResult {
  /** All of its text. */
  readonly text: string;
  readonly isError: boolean;
  /** The JSON in its first line. */
  readonly json: ToolJson;
  /** The data in it. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Its last line. */
  readonly cost: string;
}

/** What the JSON of a result can have. */
interface ToolJson {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: Readonly<Record<string, unknown>> & { readonly code: string };
  }[];
  readonly [member: string]: unknown;
}

/** A message of JSON-RPC, with the response that brought it. */
interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A tool in the list. */
interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly annotations: object;
  readonly inputSchema: object;
}

const MODERN = '2026-07-28';

/** An agent: a client of `/mcp` in the newest protocol. */
export class Agent {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, token?: string) {
    this.#url = `${url}/mcp`;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** Sends a message, and receives its response. */
  async send(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    signal: AbortSignal | null = null,
  ): Promise<Reply> {
    const response = await this.open(method, params, signal);
    const { status, headers } = response;
    return { status, headers, ...((await response.json()) as object) };
  }

  /** Sends a message. */
  open(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    const prefix = 'io.modelcontextprotocol/';
    const meta = {
      [`${prefix}protocolVersion`]: MODERN,
      [`${prefix}clientInfo`]: { name: 'test', version: '1' },
      [`${prefix}clientCapabilities`]: {},
    };
    const { name } = params;
    return fetch(this.#url, {
      method: 'POST',
      headers: {
        ...this.#headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      signal,
    });
  }

  /** The tools that it finds. */
  async tools(): Promise<readonly ListedTool[]> {
    const { result = {} } = await this.send('tools/list');
    return result['tools'] as readonly ListedTool[];
  }

  /** Calls a tool. */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    signal: AbortSignal | null = null,
  ): Promise<ToolResult> {
    return resultOf(await this.send('tools/call', { name, arguments: args }, signal));
  }
}

function resultOf({ error, result }: Reply): ToolResult {
  if (!result) throw new Error(JSON.stringify(error));
  const [content] = result['content'] as readonly { readonly text: string }[];
  const text = content?.text ?? '';
  const lines = text.split('\n');
  const json = text.startsWith('{') ? (JSON.parse(lines[0] ?? '') as ToolJson) : {};
  const isError = result['isError'] === true;
  return { text, isError, json, data: json.data ?? {}, cost: lines.at(-1) ?? '' };
}

/** The code of the first error in a result. */
export function codeOf({ json }: ToolResult): string | undefined {
  return json.errors?.[0]?.extensions.code;
}
