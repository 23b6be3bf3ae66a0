import { compileFunction } from 'node:vm';
import { rolldown } from 'rolldown';
import type * as Client from '../../client/live.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Feed } from './scripted-gateway.ts';

/** The client as pages load it, minified. */
export async function minifiedClient(): Promise<string> {
  const bundle = await rolldown({ input: 'client/live.ts' });
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

  /** `minified` as `minifiedClient` gives it. */
  constructor(minified: string) {
    const code = minified.replace(/export\{(\w+) as applyPatch,(\w+) as live\};?\s*$/, 'return $2');
    const build = compileFunction(code, ['setTimeout', 'clearTimeout', 'Date']);
    this.live = build(
      (task: () => void, ms: number) => this.#after(ms, task),
      (cancel?: () => void) => cancel?.(),
      { now: () => this.clock.wall(), parse: Date.parse },
    );
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
