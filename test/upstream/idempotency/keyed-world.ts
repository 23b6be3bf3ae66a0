import { createHash, randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createDigest } from '../../../src/digest.ts';
import { Source } from '../../../src/graph/rows/source.ts';
import { linksApi } from '../../../src/links/api.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import type { KeyedWrite } from '../../../src/observe/events.ts';
import { perResource } from '../../../src/resources.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Engine } from '../../../src/store/engine.ts';
import { MemoryEngine } from '../../../src/store/memory-engine.ts';
import { Store } from '../../../src/store/store.ts';
import { Cache } from '../../../src/upstream/cache/cache.ts';
import { Client, type ClientOptions } from '../../../src/upstream/client.ts';
import type { KeyedReport } from '../../../src/upstream/idempotency/idempotency-key.ts';
import { Records } from '../../../src/upstream/idempotency/records.ts';
import { Lists } from '../../../src/upstream/lists/pages.ts';
import type { Caller } from '../../../src/upstream/operation.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import { createDispatcher } from '../../../src/upstream/wire/undici.ts';
import { openSandbox, PLENTY } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** How a call with a key differs from the usual one. */
interface CallOptions {
  readonly key?: string;
  /** What the fingerprint is of. */
  readonly content?: unknown;
  readonly mutation?: string;
  readonly madeAt?: number | null;
  readonly who?: string;
  readonly maxWaitMs?: number;
  readonly signal?: AbortSignal;
}

/** What a disk has of the state of processes that follow one another: the one before is killed when the next starts. */
export class Disk {
  readonly #values = new MemoryEngine();
  #owner = 0;
  #hasLost = false;
  #knownSince: number | null = null;

  /** Some of what was written is lost; the next process finds that out. */
  lose(): void {
    this.#hasLost = true;
    this.#knownSince = null;
  }

  /** Opens the store of the next process. */
  open(clock: VirtualClock): Store {
    this.#owner += 1;
    this.#knownSince ??= clock.wall();
    const owner = this.#owner;
    const values = this.#values;
    const engine: Engine = {
      isDurable: true,
      isShared: false,
      isComplete: true,
      isReplacement: false,
      watch: () => {},
      // Nothing goes on in a process that was killed.
      write: (batch) => (owner === this.#owner ? values.write(batch) : new Promise(() => {})),
      read: (selection) => values.read(selection),
      recover: () => values.recover(),
      close: () => values.close(),
    };
    const [hasLost, knownSince] = [this.#hasLost, this.#knownSince];
    return new Store({ engine, clock, complain: () => {}, hasLost, knownSince });
  }

  /** Its values by key, as text. */
  async rows(): Promise<Map<string, string>> {
    const rows = new Map<string, string>();
    for await (const [key, value] of this.#values.read({ from: '', to: '~' })) {
      rows.set(key, String(value));
    }
    return rows;
  }

  /** Changes the values that the next process finds. */
  async change(values: ReadonlyMap<string, string>): Promise<void> {
    const changed = [...values].map(([key, text]) => [key, Buffer.from(text)] as const);
    await this.#values.write({ cleared: [], values: new Map(changed) });
  }
}

/** A process of the gateway on a sandbox, below GraphQL. */
export class KeyedProcess {
  readonly clock: VirtualClock;
  readonly records: Records;
  readonly client: Client;
  readonly lists: Lists;
  /** The ends of writes, in order. */
  readonly ends: KeyedWrite[] = [];
  readonly complaints: readonly string[];
  readonly #sandbox: Sandbox;
  /** Each process of the gateway names them differently. */
  readonly #partition = randomUUID();

  /** Starts one with what the processes before have saved on a disk. */
  static async start(
    sandbox: Sandbox,
    {
      clock = new VirtualClock(),
      disk = new Disk(),
      keepMs = 86_400_000,
      maxBytes = 1_000_000,
      ...more
    }: {
      readonly clock?: VirtualClock;
      readonly disk?: Disk;
      readonly keepMs?: number;
      readonly maxBytes?: number;
    } & Partial<ClientOptions> = {},
  ): Promise<KeyedProcess> {
    const complaints: string[] = [];
    const records = await Records.load({
      clock,
      store: disk.open(clock),
      keepMs,
      maxBytes,
      complain: (sentence) => complaints.push(sentence),
    });
    return new KeyedProcess(sandbox, clock, records, complaints, more);
  }

  private constructor(
    sandbox: Sandbox,
    clock: VirtualClock,
    records: Records,
    complaints: string[],
    more: Partial<ClientOptions>,
  ) {
    this.#sandbox = sandbox;
    this.clock = clock;
    this.records = records;
    this.complaints = complaints;
    const events = new EventStream();
    events.add({ keyed: (row) => this.ends.push(row) });
    const dispatcher = createDispatcher();
    this.client = new Client({
      api: linksApi,
      baseUrl: sandbox.links.url,
      dispatcher,
      clock,
      rateWindowMs: 60_000,
      timeoutMs: 10_000,
      timeZone: 'UTC',
      cache: new Cache({ clock, maxBytes: 10_000_000 }),
      freshness: perResource(() => ({
        ttlMs: 60_000,
        staleWhileRevalidateMs: 1000,
        staleIfErrorMs: 10_000,
      })),
      rateLimit: PLENTY,
      digest: createDigest('salt'),
      events,
      records,
      ...more,
    });
    this.lists = new Lists(this.client, 10);
    onTestFinished(() => dispatcher.destroy());
  }

  /** The link API for one operation; with a key if one is named. */
  call({
    content = 'content',
    key,
    madeAt = null,
    maxWaitMs = 10_000,
    mutation = 'createChannel',
    signal = new AbortController().signal,
    who = 'someone',
  }: CallOptions = {}): {
    readonly links: Source;
    readonly receipt: Receipt;
    report?: KeyedReport;
  } {
    const receipt = new Receipt(this.clock);
    const caller: Caller = { name: who, receipt, maxWaitMs, signal };
    const credential = { partition: this.#partition, secret: this.#sandbox.links.key };
    const access = { caller, credential };
    const links = new Source({ upstream: 'LINKS', lists: this.lists, access });
    if (key === undefined) return { links, receipt };
    const digest = createHash('sha256').update(JSON.stringify(content)).digest('base64url');
    const called: { links: Source; receipt: Receipt; report?: KeyedReport } = { links, receipt };
    called.links = links.keyed({
      ...links.nameKey(who, key),
      fingerprint: { secret: 'secret', digest },
      mutation,
      madeAt,
      report: (report) => {
        called.report = report;
      },
    });
    return called;
  }
}

/** A sandbox that lasts as long as the running test. */
export async function keyedSandbox(clock?: VirtualClock): Promise<Sandbox> {
  const sandbox = await openSandbox({
    ...(clock && { clock }),
  });
  return sandbox;
}

/** Requests that the sandbox has received since its log was cleared, e.g. `POST /api/channel/add`. */
export function received(sandbox: Sandbox, method?: string): string[] {
  const requests = sandbox.links.requests.map((each) => `${each.method} ${each.path}`);
  return requests.filter((each) => !method || each.startsWith(method));
}

/** A key that no other test uses. */
export const newKey = (): string => randomUUID();

/** The outcome of a promise: its value, or its error. */
export async function outcome<T>(promise: Promise<T>): Promise<T | Error> {
  return promise.catch((error: unknown) => error as Error);
}
