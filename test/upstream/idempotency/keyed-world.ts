import { createHash, randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createDigest } from '../../../src/digest.ts';
import { Source } from '../../../src/graph/rows/source.ts';
import { linksApi } from '../../../src/links/api.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import type { KeyedWrite } from '../../../src/observe/events.ts';
import { perResource } from '../../../src/resources.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { Cache } from '../../../src/upstream/cache/cache.ts';
import { Client, type ClientOptions } from '../../../src/upstream/client.ts';
import type { KeyedReport } from '../../../src/upstream/idempotency/idempotency-key.ts';
import { Records } from '../../../src/upstream/idempotency/store/records.ts';
import { Lists } from '../../../src/upstream/lists/pages.ts';
import type { Caller } from '../../../src/upstream/operation.ts';
import { Reader } from '../../../src/upstream/reader.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import { createDispatcher } from '../../../src/upstream/wire/undici.ts';
import { PLENTY } from '../../support/gateway.ts';
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

/** A process of the gateway on a sandbox, below GraphQL. */
export class KeyedProcess {
  readonly clock: VirtualClock;
  readonly records: Records;
  readonly client: Client;
  readonly lists: Lists;
  /** The ends of writes, in order. */
  readonly ends: KeyedWrite[] = [];
  readonly complaints: string[] = [];
  readonly #sandbox: Sandbox;
  /** Each process of the gateway names them differently. */
  readonly #partition = randomUUID();

  constructor(
    sandbox: Sandbox,
    {
      clock = new VirtualClock(),
      folder = null,
      keepMs = 86_400_000,
      maxBytes = 1_000_000,
      ...more
    }: {
      readonly clock?: VirtualClock;
      readonly folder?: string | null;
      readonly keepMs?: number;
      readonly maxBytes?: number;
    } & Partial<ClientOptions> = {},
  ) {
    this.#sandbox = sandbox;
    this.clock = clock;
    const events = new EventStream();
    events.add({ keyed: (row) => this.ends.push(row) });
    const complain = (sentence: string) => this.complaints.push(sentence);
    this.records =
      more.records ?? new Records({ clock, folder, keepMs, maxBytes, events, complain });
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
      records: this.records,
      ...more,
    });
    this.lists = new Lists(new Reader(this.client), 10);
    onTestFinished(async () => {
      this.records.close();
      await dispatcher.destroy();
    });
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
  const sandbox = await startSandbox({
    limit: { requests: PLENTY },
    ...(clock && { clock }),
  });
  onTestFinished(() => sandbox.close());
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
