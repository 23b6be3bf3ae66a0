import { setTimeout as pause } from 'node:timers/promises';
import type { Creation } from './creations.ts';

/** How a creation has ended for its caller. */
export interface Ended {
  readonly kind: 'done' | 'rejected' | 'unknown' | 'endless';
  /** Of the row; 0 without one. */
  readonly id: number;
  /** How the gateway came to it: `EXECUTED`, `REPLAYED` or `RECONCILED`, or what it says of its failure. */
  readonly how: string;
  /** Attempts that were answered, by the answer: an outcome, or the code of an error. */
  readonly answers: readonly string[];
  /** Attempts that were not answered, because the gateway had gone. */
  readonly unanswered: number;
}

/** An answer of `/graphql` or `PUT /files/`. */
interface Reply {
  readonly databaseId?: number;
  readonly data?: { readonly result?: Readonly<Record<string, unknown>> | null } | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: {
      readonly code: string;
      readonly retryAfterMs?: number;
      readonly settlesAt?: string;
    };
  }[];
  readonly extensions?: {
    readonly idempotency?: readonly { readonly outcome: string }[];
  };
}

/** After so many attempts a caller gives up, which no creation needs. */
const MOST_ATTEMPTS = 400;
/** After this time a caller hangs up, in milliseconds: the gateway, or its network, is gone. */
const HANG_UP_MS = 5000;
/** The rest of a caller before it tries again. */
const REST_MS = 50;

/**
 * Sends a creation with its key again and again, each time to the gateway that `place` returns, until there is a final
 * answer: a row, a rejection, or an unknown outcome that no retry settles.
 */
export async function create(creation: Creation, place: () => string): Promise<Ended> {
  const answers: string[] = [];
  let unanswered = 0;
  const ended = (kind: Ended['kind'], how: string, id = 0): Ended => {
    return { kind, how, id, answers, unanswered };
  };
  while (answers.length + unanswered < MOST_ATTEMPTS) {
    let reply: Reply & { readonly isReplayed: boolean };
    try {
      reply = await send(creation, place());
    } catch {
      unanswered += 1;
      await pause(REST_MS);
      continue;
    }
    const { data, errors, extensions, isReplayed } = reply;
    const [error] = errors ?? [];
    const outcome = extensions?.idempotency?.[0]?.outcome ?? (isReplayed ? 'REPLAYED' : 'EXECUTED');
    answers.push(error?.extensions.code ?? outcome);
    const id = data?.result?.['databaseId'] ?? reply.databaseId;
    if (typeof id === 'number') return ended('done', outcome, id);
    if (!error) return ended('rejected', JSON.stringify(data));
    const { code, retryAfterMs = 0, settlesAt } = error.extensions;
    if (code === 'UPSTREAM_REJECTED') return ended('rejected', error.message);
    if (code === 'OUTCOME_UNKNOWN' && settlesAt === undefined) {
      return ended('unknown', JSON.stringify(error.extensions));
    }
    await pause(Math.max(retryAfterMs, REST_MS));
  }
  return ended('endless', answers.at(-1) ?? 'no answer');
}

async function send(
  { noun, token }: Creation,
  url: string,
): Promise<Reply & { readonly isReplayed: boolean }> {
  const named = { 'idempotency-key': `"${token}"`, 'x-request-id': token };
  const signal = AbortSignal.timeout(HANG_UP_MS);
  const mutation = noun.mutation(token);
  const query =
    mutation &&
    `mutation { result: ${mutation.field} { __typename ... on ${mutation.type} { databaseId } ... on Error { message } } }`;
  const response = query
    ? await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...named },
        body: JSON.stringify({ query }),
        signal,
      })
    : await fetch(`${url}/files/${token}.txt?${noun.upload?.(token) ?? ''}`, {
        method: 'PUT',
        headers: named,
        body: token,
        signal,
      });
  const reply = (await response.json()) as Reply;
  return { ...reply, isReplayed: response.headers.has('idempotency-replayed') };
}
