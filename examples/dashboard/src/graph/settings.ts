/** How long a read or a write of the page may wait for its turn before the panel counts down instead, in seconds. */
export const WAIT_SECONDS = 2;

/** Addresses of the two APIs of a sandbox. */
export interface Sandbox {
  readonly links: string;
  readonly market: string;
}

/** Where the gateway is, and who asks. */
export interface Settings {
  /** Address of the gateway, without `/graphql`. */
  readonly gateway: string;
  /** The credential of the viewer; null for a gateway that asks for none. */
  readonly token: string | null;
  /** That of the noisy neighbour; null where there is none. */
  readonly neighbourToken: string | null;
  /** The sandbox of the demo, which fails on request; null over real APIs. */
  readonly sandbox: Sandbox | null;
}

/**
 * Reads `/settings.json`, which the server of the page answers.
 * @throws Error when it does not.
 */
export async function loadSettings(): Promise<Settings> {
  const response = await fetch('/settings.json');
  if (!response.ok) throw new Error(`/settings.json answered ${response.status}`);
  return response.json() as Promise<Settings>;
}

/** What every request to the gateway carries. `waitSeconds` is how long it may wait for its turn. */
export function headersOf(token: string | null, waitSeconds: number): Record<string, string> {
  return {
    ...(token && { authorization: `Bearer ${token}` }),
    prefer: `wait=${waitSeconds}`,
  };
}
