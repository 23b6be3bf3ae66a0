import { scripts } from '../../src/redis/lua/scripts.ts';
import { redisNames } from '../../src/redis/names.ts';
import type { Script } from '../../src/redis/script.ts';
import type { LostTime } from '../../src/redis/shared-clock.ts';
import type { Ended, SharedVerdict, Waits, Want } from '../../src/redis/shared-ledger.ts';
import { connected, redis } from './redis-connection.ts';
import type { RedisServer } from './redis-server.ts';

/** The limits of the one budget on a stage; times in milliseconds. */
export interface StageLimits {
  readonly limit?: number;
  readonly window?: number;
  readonly hold?: number;
  readonly intent?: number;
}

/** What a claim has answered. */
interface Claimed {
  readonly verdicts: readonly SharedVerdict[];
  readonly stop: number;
  readonly why: string;
  readonly asOf: number;
  readonly view: Readonly<Record<string, unknown>>;
}

/** A replica as Redis sees it: nothing but the scripts that it runs. */
export interface Actor {
  readonly id: string;
  /** In which memory of Redis it believes itself to be. */
  readonly epoch: string;
  /** How far it has seen Redis get: what a test sets back here, the replica has forgotten. */
  seen: string;
  /** Later than that it cannot be, on the shared clock; 0 when it does not know. */
  upper: number;
  /** Earlier than that it cannot be; 0 when it does not know. */
  lower: number;
  beat(applied?: number): Promise<{
    readonly n: number;
    readonly known: boolean;
    readonly tags: string[];
    readonly strangers: number;
  }>;
  claim(wants: readonly Partial<Want>[], waits?: Partial<Waits>): Promise<Claimed>;
  ended(
    id: string,
    told?: Partial<Ended> & { readonly sent?: boolean; readonly ago?: number },
  ): Promise<void>;
  renew(id: string): Promise<void>;
  touched(
    tags: readonly string[],
    intent?: string,
  ): Promise<{ readonly n: number; readonly others: string[] }>;
  goodbye(): Promise<void>;
  /** The time of the last reply, on the shared clock. */
  readonly now: number;
  /** What time that reply says may be lost. */
  readonly lost: LostTime | null;
}

/** A real Redis and replicas on it that do what a test tells them. */
export interface ScriptStage {
  readonly server: RedisServer;
  actor(id: string, fingerprint?: string): Actor;
  /** The budget's document. */
  budget(): Promise<{ readonly log: readonly Record<string, unknown>[] } & Record<string, unknown>>;
  /** Lets Redis have remembered everything for an hour. */
  age(): Promise<void>;
  /** What the replicas were told over the channel. */
  messages(): Record<string, unknown>[];
}

const BUDGET = 'b:LINKS:one';
const STATE = '{gateway:1}:state';

/** Sets one up. */
export async function scriptStage(limits: StageLimits = {}): Promise<ScriptStage> {
  const server = await redis();
  const { connection, hears, told } = connected([server.url], {
    names: redisNames('gateway'),
    callMs: 5000,
  });
  await hears(/^up$/);
  const { hold = 70_000, intent = 1000, limit = 30, window = 60_000 } = limits;
  const cfg = JSON.stringify({ limit, window, margin: 250, hold, intent });
  return {
    server,
    messages: () =>
      told
        .filter((text) => text.startsWith('message '))
        .map((text) => JSON.parse(text.slice('message '.length)) as Record<string, unknown>),
    async age() {
      const epoch = JSON.parse((await server.command('HGET', STATE, '#')) as string);
      const older = JSON.stringify({ ...epoch, since: epoch.since - 3_600_000 });
      await server.command('HSET', STATE, '#', older);
    },
    async budget() {
      const document = (await server.command('HGET', STATE, BUDGET)) as string | null;
      const { log, ...rest } = JSON.parse(document ?? '{}') as Record<string, unknown>;
      return { ...rest, log: Array.isArray(log) ? log : [] };
    },
    actor(id, fingerprint = 'print') {
      const run = async (script: Script, args: readonly string[]): Promise<unknown[]> => {
        const first = [
          '{gateway:1}:ch',
          `${actor.upper}/${actor.lower}`,
          actor.seen,
          id,
          fingerprint,
        ];
        const reply = (await connection.run(script, [...first, ...args])) as unknown[];
        if (reply[0] === 'differs') throw new Error('differs');
        const [epoch, number, until, ms] = String(reply[0]).split('/');
        actor.seen = `${epoch}/${number}`;
        actor.lost = ms === undefined ? null : { until: Number(until), ms: Number(ms) };
        actor.now = Number(reply[1]);
        return reply.slice(2);
      };
      const actor: Actor & { now: number; lost: LostTime | null } = {
        id,
        seen: '',
        get epoch() {
          return actor.seen.replace(/\/.*/, '');
        },
        upper: 0,
        lower: 0,
        now: 0,
        lost: null,
        async beat(applied = 0) {
          const told = JSON.stringify({ lease: 1000, applied, remember: 600_000, budgets: [] });
          const [n, , , known, , tags, , strangers] = await run(scripts.beat, ['', '{}', told]);
          const numbers = { n: Number(n), strangers: Number(strangers) };
          return { ...numbers, known: known === 1, tags: tags as string[] };
        },
        async claim(wants, waits) {
          const all = wants.map((want, n) => ({
            id: `${id}.${n}`,
            lane: 'interactive',
            caller: 'someone',
            tags: [],
            ttl: 0,
            newer: 0,
            ...want,
          }));
          const count = (lane: string): Record<string, number> => {
            const counts: Record<string, number> = {};
            for (const want of all) {
              if (want.lane === lane) counts[want.caller] = (counts[want.caller] ?? 0) + 1;
            }
            return counts;
          };
          const r = all.filter(({ lane }) => lane === 'refresh').length;
          const waiting = { w: count('write'), i: count('interactive'), r, oldest: 0, ...waits };
          const args = [BUDGET, cfg, JSON.stringify(all), JSON.stringify(waiting)];
          const [verdicts, stop, why, asOf, view] = await run(scripts.claim, args);
          return {
            verdicts: verdicts as SharedVerdict[],
            stop: Number(stop),
            why: String(why),
            asOf: Number(asOf),
            view: JSON.parse(String(view)) as Record<string, unknown>,
          };
        },
        async ended(permit, told = {}) {
          const all = { id: permit, epoch: actor.epoch, sent: true, ago: 0, kept: false, ...told };
          await run(scripts.ended, [BUDGET, cfg, JSON.stringify(all)]);
        },
        async renew(permit) {
          await run(scripts.renew, [BUDGET, cfg, permit]);
        },
        async touched(tags, intent) {
          const told = JSON.stringify({ tags, intents: intent === undefined ? [] : [intent] });
          const [n, , others] = await run(scripts.touched, [told]);
          return {
            n: Number(n),
            others: (others as unknown[]).filter((_, at) => at % 2 === 0).map(String),
          };
        },
        async goodbye() {
          await run(scripts.goodbye, [JSON.stringify([BUDGET])]);
        },
      };
      return actor;
    },
  };
}
