import { hash } from 'node:crypto';
import { formatTokenFile } from '../../../src/auth/token-file.ts';
import { type Target, tokens } from './target.ts';
import type { Asking } from './watcher.ts';

/** What an honest caller asks for all the time. Other lists are as if the gateway had just started. */
const query =
  '{ account { username } campaigns(first: 10) { nodes { name public } } qrCodes(first: 20) { nodes { name scans } } items(first: 10) { nodes { name } } }';

/** Requests to the link API that it takes before, out of the same minute. */
export const READER_CALLS = 3;

/** The tokens by which attacker and reader are known. */
export const tokensFile = formatTokenFile([
  { name: 'attacker', role: 'editor', sha256: hash('sha256', tokens.attacker) },
  { name: 'reader', role: 'viewer', sha256: hash('sha256', tokens.reader) },
]);

/** Reads what the reader will ask for, which must not be refused. */
export async function learn(target: Target, token: string): Promise<string> {
  const { data, errors } = await target.ask(query, { token });
  if (!data || errors.length > 0) throw new Error(`the reader got ${JSON.stringify(errors)}`);
  return JSON.stringify(data);
}

/** How the reader asks: not as fast as it can, which would be an attack. */
export function reading(url: string, token: string, expected: string): Asking {
  return {
    url: `${url}/graphql`,
    pauseMs: 20,
    body: JSON.stringify({ query }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    expected,
  };
}
