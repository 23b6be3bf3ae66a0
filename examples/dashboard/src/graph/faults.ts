import type { Sandbox } from './settings.ts';

/** An API of the sandbox. */
export type Api = keyof Sandbox;

/** A fault as the sandbox describes it. */
export interface Fault {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** A fault in force. */
export interface ActiveFault extends Fault {
  readonly id: number;
  /** Its end as an ISO timestamp; null until it is removed. */
  readonly endsAt: string | null;
}

/** A fault to add, or the id of one to remove. */
export interface Change {
  readonly add?: Fault;
  readonly remove?: number;
}

async function ask<Answer>(url: string, method: string, body?: Fault): Promise<Answer> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
  return response.json() as Promise<Answer>;
}

/**
 * The faults in force at an API, after a new one was added, or one was removed, by its id.
 * @throws Error when the sandbox refuses, TypeError when it cannot be reached.
 */
export async function changeFaults(
  sandbox: Sandbox,
  api: Api,
  change: Change = {},
): Promise<readonly ActiveFault[]> {
  const url = `${sandbox[api]}/__faults`;
  if (change.add) await ask(url, 'POST', change.add);
  if (change.remove !== undefined) await ask(`${url}/${change.remove}`, 'DELETE');
  const { faults } = await ask<{ faults: readonly ActiveFault[] }>(url, 'GET');
  return faults;
}
