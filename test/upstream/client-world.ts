import { onTestFinished } from 'vitest';
import { createDigest } from '../../src/digest.ts';
import { perResource } from '../../src/resources.ts';
import { Cache } from '../../src/upstream/cache/cache.ts';
import { Client, type ClientOptions } from '../../src/upstream/client.ts';
import type { Caller } from '../../src/upstream/operation.ts';
import { Receipt } from '../../src/upstream/receipt.ts';
import type { Read } from '../../src/upstream/request.ts';
import { ScriptedUpstream, scriptedApi } from '../support/scripted-upstream.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A client of a scripted upstream, and who reads through it, which last as long as the test that is running; 30 requests a minute. */
export async function clientWorld(
  options: (upstream: ScriptedUpstream, clock: VirtualClock) => Partial<ClientOptions>,
) {
  const clock = new VirtualClock();
  const upstream = await ScriptedUpstream.start();
  onTestFinished(() => upstream[Symbol.asyncDispose]());
  const cache = new Cache({ clock, maxBytes: 1_000_000 });
  const client = new Client({
    api: scriptedApi,
    baseUrl: upstream.baseUrl,
    dispatcher: upstream.dispatcher,
    clock,
    rateWindowMs: 60_000,
    timeoutMs: 10_000,
    timeZone: 'UTC',
    cache,
    freshness: perResource(() => ({
      ttlMs: 1000,
      staleWhileRevalidateMs: 1000,
      staleIfErrorMs: 10_000,
    })),
    rateLimit: 30,
    digest: createDigest('salt'),
    ...options(upstream, clock),
  });
  /** A caller with a receipt of its own, who waits for no budget. */
  const caller = (more: Partial<Caller> = {}): Caller => ({
    name: 'someone',
    receipt: new Receipt(clock),
    maxWaitMs: 0,
    signal: new AbortController().signal,
    ...more,
  });
  return { cache, caller, client, clock, reader: client, upstream };
}

/** The read of a path, whose answer has the path as its tag. */
export function read(path: string, absentIsNull = false): Read<unknown> {
  return {
    method: 'GET',
    path: `/api/${path}`,
    resource: 'items',
    tags: [path],
    absentIsNull,
    decode: (body) => body,
  };
}
