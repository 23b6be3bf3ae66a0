import { EventStream } from '../../src/observe/event-stream.ts';
import type { ProtocolTimes } from '../../src/redis/times.ts';
import { type Clock, systemClock } from '../../src/scheduling/clock.ts';
import type { SharedResult } from '../../src/upstream/budget/budget.ts';
import type { CallerWaits, WaitingCounts } from '../../src/upstream/budget/law/callers/turns.ts';
import type { KeyBudget } from '../../src/upstream/budget/law/document.ts';
import { RedisStore } from '../../src/upstream/budget/shared/redis-store.ts';
import type { SharedClaim, SharedWant } from '../../src/upstream/budget/shared/shared-claim.ts';
import type { Feedback } from '../../src/upstream/wire/rate-limit-headers.ts';
import { bulkWaits } from './errands.ts';
import { type Actor, DOCUMENT, type ScriptStage, scriptStage } from './script-stage.ts';

/** Times in milliseconds; the limit is 30 in a minute where nothing else is said. */
export const times: ProtocolTimes = {
  leaseMs: 1000,
  beatMs: 300,
  callMs: 500,
  sendByMs: 3000,
  slackMs: 100,
  marginMs: 250,
};
/** Of a slot that is out: a window, the margin, the time to send, and a timeout of 6750 ms. */
export const HOLD_MS = 70_000;
/** Until a write counts as done whose replica is not heard of any more. */
export const INTENT_MS = 10_000;

/** A request as a test wants it. */
type Wanted = Partial<SharedWant> & {
  readonly id: string;
  readonly ttlMs?: number;
  readonly newer?: number;
};

/** A replica and the budget that it shares. */
export interface Party {
  readonly actor: Actor;
  readonly store: RedisStore;
  /** Asks at the moment of now. `others` wait on this replica besides. */
  claim(wants: readonly Wanted[], others?: Partial<WaitingCounts>): Promise<SharedClaim>;
  ended(
    id: string,
    of?: {
      readonly epoch?: string;
      readonly key?: string;
      readonly result?: SharedResult;
      readonly feedback?: Partial<Feedback>;
    },
  ): Promise<void>;
}

/** A real Redis with one budget, and replicas that do what a test instructs them. */
export interface LedgerStage extends ScriptStage {
  party(id: string): Promise<Party>;
  /** The budget as it stands in Redis. */
  budget(): Promise<KeyBudget>;
}

const silent: Feedback = { limit: null, remaining: null, resetInMs: null };

interface LedgerOptions {
  readonly clock?: Clock;
  readonly limit?: number;
  readonly windowMs?: number;
}

/** Sets one up. */
export async function ledgerStage({
  clock = systemClock,
  limit = 30,
  windowMs = 60_000,
}: LedgerOptions = {}): Promise<LedgerStage> {
  const stage = await scriptStage(clock);
  return {
    ...stage,
    async budget() {
      const text = String(await stage.server.command('HGET', '{gateway:1}:state', `b:${DOCUMENT}`));
      return JSON.parse(text.replace(/^(\d+ ){4}/, '')) as KeyBudget;
    },
    async party(id) {
      const actor = stage.actor(id);
      const touched = new Map<string, number>();
      let permits = 0;
      const store = new RedisStore({
        replica: actor,
        clock,
        times,
        events: new EventStream(),
        upstream: 'LINKS',
        name: DOCUMENT,
        limit,
        windowMs,
        timeoutMs: HOLD_MS - times.sendByMs - times.marginMs - 60_000,
        generations: {
          shows: (tags, asOf) => tags.every((tag) => (touched.get(tag) ?? 0) <= asOf),
          stampOf: ({ epoch, n, sharedAt: at }) => {
            return { storedAt: 0, generation: 0, shared: { at, epoch, asOf: n } };
          },
        },
        nameOf: (caller) => caller,
        nextId: () => {
          permits += 1;
          return `${id}.${permits}`;
        },
        isLeaving: () => false,
      });
      /** A beat reports what time it is, and which writes there were. */
      const beat = async (): Promise<void> => {
        const { n, tags } = await actor.beat(Math.max(0, actor.applied));
        for (let at = 0; at + 1 < tags.length; at += 2)
          touched.set(tags[at] ?? '', Number(tags[at + 1]));
        actor.applied = n;
      };
      await beat();
      return {
        actor,
        store,
        async claim(wanted, others = {}) {
          await beat();
          const wants = wanted.map(({ key, newer = 0, ttlMs = 0, ...want }): SharedWant => {
            const lane = want.lane ?? 'interactive';
            const { touches: tags = [] } = want;
            const sought = key === undefined ? {} : { key, sought: { key, tags, ttlMs, newer } };
            return { caller: 'someone', ...want, ...sought, lane };
          });
          const { seq } = store.budget.turns;
          const waits = (lane: string): CallerWaits[] =>
            [
              ...new Set(wants.filter((each) => each.lane === lane).map(({ caller }) => caller)),
            ].map((caller) => [
              caller,
              wants.filter((each) => each.lane === lane && each.caller === caller).length,
              seq,
            ]);
          const refreshes = wants.filter(({ lane }) => lane === 'refresh').length;
          const all = {
            write: waits('write'),
            interactive: waits('interactive'),
            refreshes,
            oldestMs: 0,
            bulk: bulkWaits(wants),
          };
          return (await store.ask(wants, { ...all, ...others })).result;
        },
        async ended(permit, { epoch, feedback, ...of } = {}) {
          await beat();
          const ending = { ...of, feedback: { ...silent, ...feedback } };
          await store.ended(permit, epoch ?? actor.epoch, ending);
        },
      };
    },
  };
}
