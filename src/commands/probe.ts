import { randomBytes } from 'node:crypto';
import { createBackends } from '../backends.ts';
import type { Endpoint } from '../config/apis.ts';
import type { Config } from '../config/config.ts';
import { endpointsOf } from '../config/endpoints.ts';
import { createDigest } from '../digest.ts';
import { EventStream } from '../observe/event-stream.ts';
import { type Probed, probeUpstreams } from '../operators/upstream-probe.ts';
import { type Clock, systemClock } from '../scheduling/clock.ts';
import { StoreError } from '../store/engine.ts';
import { newStore, openStore, placeOf } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { SavedSlots } from '../upstream/budget/saved-slots.ts';
import { Cache } from '../upstream/cache/cache.ts';
import { FaultWatch } from '../upstream/diagnosis.ts';
import { createDispatcher } from '../upstream/wire/undici.ts';
import { askRunning } from './running-gateway.ts';

/**
 * Asks each configured upstream one question with the configured key, and says what is wrong. 1 upstream call each,
 * never one over the rate limit: by the gateway that runs with these settings, where one does; else under the budget in
 * the store, which the next process finds. While another process owns the store and cannot be asked, nothing is sent: it
 * would not know of it.
 */
export async function probe(config: Config, clock: Clock = systemClock): Promise<Probed> {
  if (config.sandbox) {
    return { lines: ['The sandbox is part of the gateway and is not probed.'], wrong: 'nothing' };
  }
  return (await askRunning(config, clock)) ?? askUpstreams(config, clock);
}

async function askUpstreams(config: Config, clock: Clock): Promise<Probed> {
  const warnings: string[] = [];
  const { links, market } = config;
  const hasKey = Boolean(links.endpoint?.apiKey || market.endpoint?.apiKey);
  // Without a key, requests count for no key.
  const store = hasKey
    ? await storeOf(config, clock, (sentence) => warnings.push(sentence))
    : newStore(clock);
  if (typeof store === 'string') {
    const lines = ['No upstream request was sent.', store, ...warnings, BESIDE];
    return { lines, wrong: 'world' };
  }
  const dispatcher = createDispatcher();
  try {
    const keepMs = Math.max(links.rateWindowMs, market.rateWindowMs);
    const watches: FaultWatch[] = [];
    const { clients } = createBackends(config, endpointsOf(config, null), {
      dispatcher,
      clock,
      cache: new Cache({ clock, maxBytes: 1 }),
      events: new EventStream(),
      digest: createDigest(randomBytes(32).toString('base64')),
      slots: await SavedSlots.load({ store, clock, keepMs }),
      witness(subject) {
        const watch = new FaultWatch(subject, { clock, complain: () => {} });
        watches.push(watch);
        return watch;
      },
    });
    const credentialOf = (endpoint: Endpoint | null) => {
      return { partition: 'probe', secret: endpoint?.apiKey ?? '' };
    };
    const { lines, wrong } = await probeUpstreams({
      clients,
      watches,
      credentials: { LINKS: credentialOf(links.endpoint), MARKET: credentialOf(market.endpoint) },
      clock,
      maxWaitMs: config.maxWaitMs,
    });
    return { lines: [...lines, ...warnings], wrong };
  } finally {
    await dispatcher.close();
    await store.close();
  }
}

/** The store of these settings, or why it cannot be used. */
async function storeOf(
  { databaseUrl, stateDir }: Config,
  clock: Clock,
  complain: (sentence: string) => void,
): Promise<Store | string> {
  try {
    const opened = await openStore({
      place: placeOf(databaseUrl, stateDir),
      url: NOWHERE,
      clock,
      complain,
    });
    if ('owned' in opened) return opened.owned.store;
    // Ends its session, if it has one.
    await opened.waiting.own(AbortSignal.abort()).catch(() => {});
    return `${databaseUrl === null ? `STATE_DIR ${stateDir}` : 'DATABASE_URL'} is in use by another process.`;
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
}

/** This process answers no requests. */
const NOWHERE = 'http://127.0.0.1:1';

/** What to do where a gateway owns the budget and does not answer at the port of these settings. */
const BESIDE =
  'Run this command with the settings and the user of the running gateway, in its container if it has one. It then connects to the gateway on PORT or METRICS_PORT, and that gateway sends the requests.';
