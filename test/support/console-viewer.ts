import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { ConsoleState } from '../../src/console/console-state.ts';

/** Somebody who looks at `/console/events` over a socket of their own. */
export class ConsoleViewer {
  readonly states: ConsoleState[] = [];
  /** 0 until the head of the answer is there. */
  status = 0;
  contentType = '';
  ended = false;
  #text = '';
  #response: IncomingMessage | undefined;
  readonly #request: ClientRequest;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#request = request(`${url}/console/events`, { headers, agent: false });
    this.#request.on('response', (response) => this.#listen(response)).on('error', () => {});
    this.#request.end();
  }

  /** Takes nothing more. */
  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  leave(): void {
    this.#request.destroy();
  }

  #listen(response: IncomingMessage): void {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.contentType = response.headers['content-type'] ?? '';
    response.on('data', (bytes: Buffer) => this.#take(bytes.toString()));
    response.on('close', () => {
      this.ended = true;
    });
  }

  #take(text: string): void {
    const events = (this.#text + text).split('\n\n');
    this.#text = events.pop() ?? '';
    for (const event of events) {
      const data = /^event: state\ndata: (.*)$/.exec(event)?.[1];
      if (data === undefined) throw new Error(`No state: ${event.slice(0, 200)}`);
      this.states.push(JSON.parse(data) as ConsoleState);
    }
  }
}

/** The state as `/console.json` answers it. */
export async function consoleState(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ConsoleState> {
  return (await (await fetch(`${url}/console.json`, { headers })).json()) as ConsoleState;
}
