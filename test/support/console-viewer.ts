import type { ConsoleState } from '../../src/console/console-state.ts';

/** The state as `/console.json` answers it. */
export async function consoleState(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ConsoleState> {
  return (await (await fetch(`${url}/console.json`, { headers })).json()) as ConsoleState;
}
