import type { Client } from '@urql/core';
import { ask } from './ask.ts';
import { MarketQueue, PurchaseCheck } from './documents.ts';
import type { Settings } from './settings.ts';

/** Operations that the neighbour sends at once. */
const OPERATIONS = 4;
/** The share of the limit that the gateway reserves for others, by default. */
const RESERVED = 0.2;
/** How often the queue is looked at until the neighbour stands in it, and how often at most. */
const LOOK_MS = 100;
const LOOKS = 50;
/** Both are patient; the gateway cuts it to what it allows. */
const WAIT_SECONDS = 60;

/** Where the neighbour's operations and one's own are. */
export interface Race {
  /** What the neighbour asks for: reads that are not cached. */
  readonly reads: number;
  /** How long each of its operations that are answered waited for its turns, in milliseconds. */
  readonly neighbour: readonly number[];
  /** Those that were turned away, since no turn came in time. */
  readonly turnedAway: number;
  readonly operations: number;
  /** How long one's own read waited; null while it does. */
  readonly own: number | null;
  /** Of the neighbour's operations, how many were still waiting when one's own was answered. */
  readonly stillWaiting: number | null;
}

/** One operation that checks codes which do not exist: none of them is cached. */
function manyChecks(reads: number): string {
  const checks = Array.from(
    { length: reads },
    (_, index) => `c${index}: purchase(code: "${crypto.randomUUID()}") { code }`,
  );
  return `query Neighbour { ${checks.join(' ')} }`;
}

/**
 * Lets a neighbour send reads for up to two windows of the marketplace's budget at once, by another token, then asks
 * for one read as oneself. Costs all of them. It reports what the receipts say.
 * @throws TypeError when the gateway cannot be reached.
 */
export async function runRace(
  client: Client,
  settings: Settings,
  onChange: (race: Race) => void,
): Promise<void> {
  const queue = () => client.query(MarketQueue, {}, { requestPolicy: 'network-only' }).toPromise();
  const { data } = await queue();
  // One operation may ask for two thirds of the limit.
  const limit = data?.rateLimit.limit ?? 2;
  const each = Math.min(Math.ceil(limit / 2), 10);
  let race: Race = {
    reads: OPERATIONS * each,
    neighbour: [],
    turnedAway: 0,
    operations: OPERATIONS,
    own: null,
    stillWaiting: null,
  };
  const change = (part: Partial<Race>): void => {
    race = { ...race, ...part };
    onChange(race);
  };
  change({});

  const neighbour = Array.from({ length: OPERATIONS }, async () => {
    const { errors, extensions } = await ask(
      settings,
      manyChecks(each),
      {},
      {
        token: settings.neighbourToken,
        waitSeconds: WAIT_SECONDS,
      },
    );
    const waited = extensions?.upstream?.waitedMs ?? 0;
    if (errors) change({ turnedAway: race.turnedAway + 1 });
    else change({ neighbour: [...race.neighbour, waited] });
  });

  // One's own comes last: only once the neighbour waits, and has used what is not reserved.
  for (let look = 0; look < LOOKS; look += 1) {
    const { remaining = 0, queued = 0 } = (await queue()).data?.rateLimit ?? {};
    if (remaining <= limit * RESERVED && queued > 0) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const code = crypto.randomUUID();
  const own = ask(settings, PurchaseCheck, { code }, { waitSeconds: WAIT_SECONDS }).then(
    ({ extensions }) =>
      change({
        own: extensions?.upstream?.waitedMs ?? 0,
        stillWaiting: race.operations - race.neighbour.length - race.turnedAway,
      }),
  );
  await Promise.all([...neighbour, own]);
}
