import { setMaxListeners } from 'node:events';
import { compileFunction } from 'node:vm';
import { rolldown } from 'rolldown';
import { expect } from 'vitest';
import type * as Client from '../../client/index.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Feed, type ScriptedGateway } from './scripted-gateway.ts';

/** The client as pages load it, minified: all of it, or what a page loads that imports from one of its files. */
export async function minifiedClient(file = 'index.ts'): Promise<string> {
  const bundle = await rolldown({ input: `client/${file}` });
  const { output } = await bundle.generate({ format: 'esm', minify: true, comments: false });
  await bundle.close();
  return output[0].code;
}

/** The client with a time of its own: sockets, and `fetch` with its timeouts, stay in the machine's. */
export class TimedClient {
  readonly clock = new VirtualClock();
  /** How long the client waits before each request but those that it makes at once, in milliseconds. */
  readonly waits = new Feed<number>();
  readonly live: typeof Client.live;
  readonly pendingWrites: typeof Client.pendingWrites;
  readonly retryingFetch: typeof Client.retryingFetch;
  readonly #network = new EventTarget();
  readonly #navigator = { onLine: true };

  /** `minified` as `minifiedClient` gives it. */
  constructor(minified: string) {
    const code = minified.replace(/export\{([^}]*)\};?\s*$/, (_, names: string) => {
      return `return {${names.replace(/(\w+) as (\w+)/g, '$2:$1')}}`;
    });
    // One for each request under way.
    setMaxListeners(0, this.#network);
    const own = ['setTimeout', 'clearTimeout', 'Date', 'navigator', 'addEventListener'];
    const { live, pendingWrites, retryingFetch } = compileFunction(code, own)(
      (task: () => void, ms: number) => this.#after(ms, task),
      (cancel?: () => void) => cancel?.(),
      { now: () => this.clock.wall(), parse: Date.parse },
      this.#navigator,
      this.#network.addEventListener.bind(this.#network),
    ) as typeof Client;
    this.live = live;
    this.pendingWrites = pendingWrites;
    this.retryingFetch = retryingFetch;
  }

  /** Lets it wait as long as it wants to, and not a bit less; returns how long that was. */
  async waitOut({ asked }: ScriptedGateway): Promise<number> {
    const ms = await this.waits.next();
    await this.clock.advance(ms - 1);
    expect(asked.size).toBe(0);
    await this.clock.advance(1);
    return ms;
  }

  /** What the browser knows of its network. */
  set isOnline(isOnline: boolean) {
    this.#navigator.onLine = isOnline;
    this.#network.dispatchEvent(new Event(isOnline ? 'online' : 'offline'));
  }

  #after(ms: number, task: () => void): () => void {
    if (ms === 0) {
      const immediate = setImmediate(task);
      return () => clearImmediate(immediate);
    }
    // Those watch over silence.
    if (ms < 40_000 || ms > 45_000) this.waits.push(ms);
    return this.clock.after(ms, task);
  }
}
