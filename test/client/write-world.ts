import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type {
  PendingWrites,
  PendingWritesOptions,
  WriteAnswer,
} from '../../client/pending-writes.ts';
import { MemoryStorage } from './memory-storage.ts';
import { type Asked, ScriptedGateway } from './scripted-gateway.ts';
import { minifiedClient, TimedClient } from './timed-client.ts';

export const CREATE = 'CreateCampaign';
export const variables = { input: { name: 'Winter sale' } };
/** The answer to it, once it is done. */
export const done = { data: { createCampaign: { __typename: 'Campaign', id: 'a' } } };

export const failed = (code: string, more: object = {}) => ({
  data: null,
  errors: [{ message: code, path: ['createCampaign'], extensions: { code, ...more } }],
});

/** A page with pending writes, its storage, and a gateway, new for each test of the file. */
export class WriteWorld {
  gateway!: ScriptedGateway;
  client!: TimedClient;
  storage!: MemoryStorage;
  writes!: PendingWrites;
  /** The states that the page has shown, each once in a row. */
  shown!: string[];
  #minified = '';

  constructor() {
    beforeAll(async () => {
      this.#minified = await minifiedClient('index.ts');
    });
    beforeEach(async () => {
      this.gateway = await new ScriptedGateway().start();
      this.client = new TimedClient(this.#minified);
      this.storage = new MemoryStorage();
      this.shown = [];
      this.writes = this.page();
    });
    afterEach(() => this.gateway.stop());
  }

  /** Ends the page as a crash does, and opens it again. */
  reload(): void {
    // The clock of the page before stands still.
    this.client = new TimedClient(this.#minified);
    this.shown = [];
    this.writes = this.page();
  }

  /** A page of this browser: what the one before has left is in its storage. */
  page(options: Partial<PendingWritesOptions> = {}): PendingWrites {
    const writes = this.client.pendingWrites({
      storage: this.storage,
      send: async ({ key, operation, variables: of }, signal) => {
        const response = await fetch(this.gateway.url, {
          method: 'POST',
          headers: { 'idempotency-key': `"${key}"` },
          body: JSON.stringify({ operationName: operation, variables: of }),
          signal,
        });
        return (await response.json()) as WriteAnswer;
      },
      ...options,
    });
    writes.subscribe(() => {
      const states = writes.list().map(({ isUnsure, state }) => (isUnsure ? `${state}?` : state));
      const text = states.join(' ') || 'none';
      if (text !== this.shown.at(-1)) this.shown.push(text);
    });
    return writes;
  }

  asked(): Promise<Asked> {
    return this.gateway.asked.next();
  }

  waitOut(): Promise<number> {
    return this.client.waitOut(this.gateway);
  }

  /** Nothing is under way, stored or waited for. */
  expectRest(): void {
    const { client, gateway, storage, writes } = this;
    expect([writes.list(), storage.length, gateway.asked.size, client.waits.size]).toEqual([
      [],
      0,
      0,
      0,
    ]);
  }
}

/** The key of a request, without its quotes. */
export function keyOf({ headers }: Asked): string {
  return String(headers['idempotency-key']).replaceAll('"', '');
}
