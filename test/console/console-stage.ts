import { afterEach } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { consoleState } from '../support/console-viewer.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** Gateways of one test file on a virtual clock, and the state that their consoles show. */
export class ConsoleStage {
  /** That of the gateway that was started last, unless a test sets one for a sandbox of its own. */
  clock = new VirtualClock();
  readonly #opened: BusyGateway[] = [];

  constructor() {
    afterEach(async () => {
      while (this.#opened.length > 0) await this.closeLast();
    });
  }

  /** Starts a gateway; with a sandbox, on the clock of that sandbox. */
  async start(env: Record<string, string> = {}, sandbox?: Sandbox): Promise<BusyGateway> {
    if (!sandbox) this.clock = new VirtualClock();
    const busy = await busyGateway(env, { clock: this.clock, ...(sandbox ? { sandbox } : {}) });
    this.#opened.push(busy);
    return busy;
  }

  /** Closes the gateway that was started last. */
  async closeLast(): Promise<void> {
    await this.#opened.pop()?.close();
  }

  /** The state of one upstream, after the console has updated it. */
  async look({ url }: BusyGateway, upstream = 'LINKS') {
    await this.clock.advance(200);
    const state = await consoleState(url);
    const found = state.upstreams.find((each) => each.upstream === upstream);
    if (!found) throw new Error(`There is no ${upstream}.`);
    return { ...state, ...found };
  }

  /** Resolves once a number of requests of a lane wait. */
  async queued({ url }: BusyGateway, lane: string, count = 1): Promise<void> {
    const line = `gateway_queue_length{upstream="LINKS",lane="${lane}"} ${count}\n`;
    while (!(await (await fetch(`${url}/metrics`)).text()).includes(line)) {
      await this.clock.settle();
    }
  }
}

/** Fields that need one upstream request each. */
export const READS = ['account { username }', 'pixels { totalCount }', 'plans { name }'];
