import { redisNames } from '../../src/redis/connection/names.ts';
import type { Reply } from '../../src/redis/heard.ts';
import { type Script, scripts } from '../../src/redis/lua/scripts.ts';
import type { Replica } from '../../src/redis/replica.ts';
import type { LostTime } from '../../src/redis/shared-clock.ts';
import { type Clock, momentOf, systemClock } from '../../src/scheduling/clock.ts';
import { connected, redis } from './redis-connection.ts';
import type { RedisServer } from './redis-server.ts';

/** What becomes of a swap. */
interface Swapped {
  readonly done: boolean;
  readonly n: number;
  readonly ageMs: number;
  readonly token: string;
  readonly shift: number;
  /** The newest text; empty where the swap was carried out. */
  readonly text: string;
  readonly others: readonly string[];
  /** Names of replicas, each followed by its bid. */
  readonly bids: readonly string[];
  /** Names those that live, and what they wait for. */
  readonly company: string;
  /** Writes for which it was refused. */
  readonly lost: readonly string[];
  readonly excluded: readonly string[];
}

/** A write that a swap announces. */
interface ToldIntent {
  readonly ms: number;
  readonly tags: string[];
  readonly row?: string;
  readonly lock?: string;
}

/** What becomes of a claim of a record. */
interface Claimed {
  readonly kind: string;
  readonly text: string;
  readonly sent: number;
  /** The highest time until which a record was to be kept that was deleted before. */
  readonly low: number;
}

/** A record that is written. */
interface ToldRecord {
  readonly name: string;
  readonly token: string;
  readonly sent: number;
  readonly text: string;
  readonly ms?: number;
  readonly owned?: boolean;
  readonly asIs?: boolean;
}

/** What a swap is to do, beside changing the text. */
interface Told {
  readonly text?: string;
  readonly token?: string;
  /** Who lives and what they wait for, as it is known; anybody where it is absent. */
  readonly company?: string;
  /** On the shared clock; none where it is absent. */
  readonly latest?: number;
  readonly forget?: number;
  readonly bid?: string;
  readonly bidMs?: number;
  readonly intents?: {
    readonly add?: Readonly<Record<string, ToldIntent>>;
    readonly renew?: Readonly<Record<string, number>>;
    readonly drop?: readonly string[];
  };
  readonly messages?: readonly { readonly text: string; readonly always: boolean }[];
  readonly records?: readonly (ToldRecord & { readonly id: string })[];
}

/** A replica as Redis sees it: nothing but the scripts that it runs. */
export interface Actor extends Pick<Replica, 'call' | 'heldMs' | 'leased'> {
  readonly id: string;
  /** The last write that it knows of. */
  applied: number;
  /** In which memory of Redis it believes itself to be. */
  readonly epoch: string;
  /** How far it has seen Redis get: what a test sets back here, the replica has forgotten. */
  seen: string;
  /** Later than that it cannot be, on the shared clock; 0 when it does not know. */
  upper: number;
  /** Earlier than that it cannot be; 0 when it does not know. */
  lower: number;
  /** What it knows the document by. */
  token: string;
  beat(applied?: number): Promise<{
    readonly n: number;
    readonly known: boolean;
    readonly tags: string[];
    readonly strangers: number;
    /** Of the document: token, shift, the text where it is another than this replica knows, and the bids for it. */
    readonly document: readonly unknown[];
  }>;
  /** Swaps the document as this replica knows it, and remembers what it is now. */
  swap(told?: Told): Promise<Swapped>;
  touched(
    tags: readonly string[],
    intent?: string,
  ): Promise<{ readonly n: number; readonly others: string[] }>;
  goodbye(): Promise<void>;
  /** Claims the record of a key under a token, as one of which this replica knows nothing more than the text. */
  claim(
    name: string,
    token: string,
    of?: { readonly text?: string; readonly sent?: number; readonly max?: number },
  ): Promise<Claimed>;
  /** Writes records; whether each was written, and none where nothing was done. */
  put(records: readonly ToldRecord[], max?: number): Promise<boolean[]>;
  lock(row: string, id: string): Promise<string>;
  unlock(row: string, id: string): Promise<void>;
  /** The time of the last reply, on the shared clock. */
  readonly now: number;
  /** What time that reply says may be lost. */
  readonly lost: LostTime | null;
}

/** A real Redis and replicas on it that do what a test instructs them. */
export interface ScriptStage {
  readonly server: RedisServer;
  actor(id: string, fingerprint?: string): Actor;
  /** Lets Redis have remembered everything for an hour. */
  age(): Promise<void>;
  /** What the replicas were told over the channel. */
  messages(): Record<string, unknown>[];
}

/** The one document of a stage. */
export const DOCUMENT = 'LINKS:one';
const STATE = '{gateway:1}:state';
/** On the shared clock. */
const NEVER = 1e15;
/** How long records are kept, and how many bytes they may take up. */
const KEPT_MS = 86_400_000;
const MAX_BYTES = 1e9;
/** How well an actor knows the time. */
const UNSURE_MS = 100;

/** Sets one up. */
export async function scriptStage(clock: Clock = systemClock): Promise<ScriptStage> {
  const server = await redis();
  const { connection, hears, told } = connected([server.url], {
    names: redisNames('gateway'),
    callMs: 5000,
  });
  await hears(/^up$/);
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
    actor(id, fingerprint = 'print') {
      const run = async (script: Script, args: readonly string[]): Promise<unknown[]> => [
        ...(await actor.call(script, args)).rest,
      ];
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
        token: '',
        applied: -1,
        heldMs: () => 0,
        leased: true,
        async call(script, args): Promise<Reply> {
          const { lower, now, upper } = actor;
          const earliest = lower || now;
          const bounds = { lower: earliest, latest: earliest + UNSURE_MS, upper };
          const own = typeof args === 'function' ? args(now > 0 ? bounds : null) : args;
          const first = ['{gateway:1}:ch', `${upper}/${lower}`, actor.seen, id, fingerprint];
          const reply = (await connection.run(script, [...first, ...own])) as unknown[];
          if (reply[0] === 'differs') throw new Error('differs');
          const [epoch = '', number, until, ms] = String(reply[0]).split('/');
          actor.seen = `${epoch}/${number}`;
          actor.lost = ms === undefined ? null : { until: Number(until), ms: Number(ms) };
          actor.now = Number(reply[1]);
          const of = { now: actor.now, lost: actor.lost, sent: momentOf(clock) };
          return { epoch, number: Number(number), ...of, rest: reply.slice(2) };
        },
        async beat(applied = 0) {
          const documents = [{ name: DOCUMENT, token: actor.token }];
          const told = JSON.stringify({ lease: 1000, applied, remember: 600_000, documents });
          const [n, , , known, , tags, news, strangers] = await run(scripts.beat, [told]);
          const numbers = { n: Number(n), strangers: Number(strangers) };
          const [document = []] = news as unknown[][];
          return { ...numbers, known: known === 1, tags: tags as string[], document };
        },
        async swap({ intents, records, text = '', ...rest } = {}) {
          const told = {
            name: DOCUMENT,
            token: actor.token,
            latest: NEVER,
            forget: 60_000,
            messages: [],
            ...rest,
            ...(intents && { intents: { add: {}, renew: {}, drop: [], ...intents } }),
            ...(records && { records: records.map((each) => ({ ms: KEPT_MS, ...each })) }),
          };
          const texts = (records ?? []).map((each) => each.text);
          const reply = await run(scripts.swap, [JSON.stringify(told), text, ...texts]);
          const [n, ageMs, done, token, shift, newest, others, bids, company, lost, excluded] =
            reply;
          actor.token = String(token);
          return {
            done: done === 1,
            n: Number(n),
            ageMs: Number(ageMs),
            token: actor.token,
            shift: Number(shift),
            text: String(newest),
            others: others as string[],
            bids: bids as string[],
            company: String(company),
            lost: lost as string[],
            excluded: excluded as string[],
          };
        },
        async touched(tags, intent) {
          const told = JSON.stringify({ tags, intents: intent === undefined ? [] : [intent] });
          const [n, , others] = await run(scripts.touched, [told]);
          return {
            n: Number(n),
            others: (others as unknown[]).filter((_, at) => at % 2 === 0).map(String),
          };
        },
        async claim(name, token, { max = MAX_BYTES, sent = 0, text = 'claimed' } = {}) {
          const told = JSON.stringify({ name, token, sent, ms: KEPT_MS, max });
          const [kind, known, count, low] = await run(scripts.take, [told, text]);
          return {
            kind: String(kind),
            text: String(known),
            sent: Number(count),
            low: Number(low),
          };
        },
        async put(records, max = MAX_BYTES) {
          const told = records.map((each) => ({ ms: KEPT_MS, owned: false, ...each }));
          const [, done] = await run(scripts.put, [
            JSON.stringify({ records: told, max }),
            ...records.map(({ text }) => text),
          ]);
          return (done as unknown[]).map((each) => each === 1);
        },
        async lock(row, id) {
          return String((await run(scripts.lock, [JSON.stringify({ row, id })]))[0]);
        },
        async unlock(row, id) {
          await run(scripts.unlock, [JSON.stringify({ row, id })]);
        },
        async goodbye() {
          await run(scripts.goodbye, [JSON.stringify([DOCUMENT])]);
        },
      };
      return actor;
    },
  };
}

/** Replicas whose leases run and who know the epoch. */
export async function knownActors(...names: readonly string[]) {
  const stage = await scriptStage();
  const actors = names.map((name) => stage.actor(name));
  for (const actor of actors) {
    await actor.beat();
    await actor.swap();
  }
  return { stage, server: stage.server, actors: actors as [Actor, Actor] };
}
