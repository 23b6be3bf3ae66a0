import type { KeyedReport } from '../../../src/upstream/idempotency/idempotency-key.ts';
import type { Door, Reply } from '../../support/door.ts';
import type { Row } from '../../support/gateway.ts';

export interface KeyedReply extends Reply {
  /** `extensions.idempotency` by the response names of the fields: the outcome and the upstream requests. */
  readonly outcomes: Readonly<Record<string, readonly [outcome: string, upstreamCalls: number]>>;
  readonly reports: readonly (KeyedReport & { readonly path: readonly string[] })[];
  readonly replayed: string | null;
  /** Requests that reached either API since this one was sent. */
  readonly sent: number;
}

interface Asking {
  readonly variables?: Row;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** Sends an operation with the header `Idempotency-Key`, unless the key is `null`. */
export async function askKeyed(
  door: Door,
  key: string | null,
  query: string,
  { headers, token, variables }: Asking = {},
): Promise<KeyedReply> {
  const before = door.calls();
  const reply = await door.ask(query, token ?? null, {
    ...(variables && { variables }),
    headers: { ...(key !== null && { 'idempotency-key': `"${key}"` }), ...headers },
  });
  const { extensions = {} } = JSON.parse(reply.text) as {
    readonly extensions?: { readonly idempotency?: KeyedReply['reports'] };
  };
  const reports = extensions.idempotency ?? [];
  return {
    ...reply,
    reports,
    outcomes: Object.fromEntries(
      reports.map(({ path, outcome, upstreamCalls }) => [path.join(), [outcome, upstreamCalls]]),
    ),
    replayed: reply.headers.get('idempotency-replayed'),
    sent: door.calls() - before,
  };
}

let last = 0;
/** A key, and a name, that no other test of a file uses. */
export function next(): string {
  last += 1;
  return `test-${last}`;
}

export const create = (name: string, selection = 'id name'): string =>
  `mutation { createChannel(input: { name: "${name}" }) { ... on Channel { ${selection} } } }`;

export const replayed = {
  outcomes: { createChannel: ['REPLAYED', 0] },
  replayed: 'true',
  sent: 0,
} as const;

/** A refusal, since the key was used for another. */
export const reused = {
  code: 'IDEMPOTENCY_KEY_REUSED',
  status: 422,
  replayed: null,
  sent: 0,
} as const;
