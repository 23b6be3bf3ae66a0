import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { LiveEnd, LiveOptions, LiveResult } from '../../client/live-types.ts';
import { type Asked, event, Feed, ScriptedGateway } from './scripted-gateway.ts';
import { minifiedClient, TimedClient } from './timed-client.ts';

interface Data {
  readonly rows: readonly { readonly id: string; readonly clicks: number }[];
  readonly name?: string;
}

export const body = { query: 'query Rows @live { rows { id clicks } name }' };

/** What is asked for, at first. */
export const data: Data = {
  rows: [
    { id: 'a', clicks: 1 },
    { id: 'b', clicks: 2 },
  ],
  name: 'first',
};
export const liveAt = (revision: number, ageMs = 0) => ({
  revision,
  ageMs,
  nextRefreshInMs: 60_000,
});
export function next(revision: number, whole: Data = data): string {
  const extensions = { upstream: { calls: 1 }, live: liveAt(revision) };
  return event({ event: 'next', data: { data: whole, extensions } });
}
export const renamed = (revision: number, name: string): string =>
  next(revision, { ...data, name });
export function age(revision: number, ageMs: number): string {
  return event({ event: 'age', data: { extensions: { live: liveAt(revision, ageMs) } } });
}
/** The end of a stream for good. */
export const complete = event({ event: 'complete', data: '' });
/** The first wait after this many failures in a row. */
export function expectBackOff(ms: number, failures = 0): void {
  const most = Math.min(30_000, 1000 * 2 ** failures);
  expect(ms).toBeGreaterThanOrEqual(most / 2);
  expect(ms).toBeLessThanOrEqual(most);
}

/** A client and a gateway, new for each test of the file. */
export class ClientWorld {
  gateway!: ScriptedGateway;
  client!: TimedClient;
  results!: Feed<LiveResult<Data>>;
  ends!: Feed<LiveEnd>;
  stop = (): void => {};

  constructor() {
    let minified = '';
    beforeAll(async () => {
      minified = await minifiedClient();
    });
    beforeEach(async () => {
      this.gateway = await new ScriptedGateway().start();
      this.client = new TimedClient(minified);
      this.results = new Feed();
      this.ends = new Feed();
    });
    afterEach(async () => {
      this.stop();
      await this.gateway.stop();
    });
  }

  /** Begins to ask, in a page that is always seen. */
  open(
    options: Partial<LiveOptions> = {},
    onResult = (result: LiveResult<Data>): void => this.results.push(result),
  ): void {
    const all = { url: this.gateway.url, body, document: null, ...options };
    this.stop = this.client.live<Data>(all, onResult, (end) => this.ends.push(end));
  }

  asked(): Promise<Asked> {
    return this.gateway.asked.next();
  }

  /** A stream that has brought two events, the later of revision 2. */
  async openStream(options?: Partial<LiveOptions>): Promise<Asked> {
    this.open(options);
    const asked = (await this.asked()).stream(next(1), renamed(2, 'second'));
    await this.results.next();
    await this.results.next();
    return asked;
  }

  waitOut(): Promise<number> {
    return this.client.waitOut(this.gateway);
  }

  /** How many requests, waits, results and ends were not taken. */
  get left(): readonly number[] {
    const { gateway, client, results, ends } = this;
    return [gateway.asked.size, client.waits.size, results.size, ends.size];
  }
}
