import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { nouns, ROWS } from './rows.ts';
import { Truth } from './truth.ts';

/** One text for all users: a replica compiles it once, and not for each question. */
const USER = 'query ($id: ID!) { user(id: $id) { email } }';

/** What is asked of a cluster at a time. */
export interface Traffic {
  /** Askers at each replica, each with one question at a time that only the upstream can answer. */
  readonly askers?: number;
  /** Writers of the whole cluster, each of whom reads by all replicas what it has written. */
  readonly writers?: number;
  /** Readers at each replica of what is written. */
  readonly readers?: number;
  /** Milliseconds that a reader and a writer rest, at most. */
  readonly restMs?: number;
}

/** What became of the askers' questions. */
export interface Pressed {
  answered: number;
  /** Questions that reached no replica, or were not answered. */
  unreachable: number;
  /** Errors by code. */
  readonly codes: Record<string, number>;
  /** Answers to what a process had answered before, and the codes of those that failed: there must be none. */
  warm: number;
  readonly warmFailures: string[];
  /** Reads by another replica than the one that had just confirmed a write, which they showed or a later one. */
  pairs: number;
}

/** Traffic on a cluster that goes on until it is ended, and the truth about what it has read. */
export class Press {
  readonly pressed: Pressed = {
    answered: 0,
    unreachable: 0,
    codes: {},
    warm: 0,
    warmFailures: [],
    pairs: 0,
  };
  readonly truth: Truth;
  readonly #cluster: Cluster;
  readonly #roll: (sides: number) => number;
  #over = false;
  #lastId = 0;
  readonly #all: Promise<unknown>;

  constructor(cluster: Cluster, traffic: Traffic, roll: (sides: number) => number) {
    this.#cluster = cluster;
    this.#roll = roll;
    this.truth = new Truth(cluster);
    const { askers = 0, writers = 0, readers = 0, restMs = 200 } = traffic;
    const times = (count: number, work: () => Promise<void>) => Array.from({ length: count }, work);
    this.#all = Promise.all([
      ...cluster.replicas.flatMap((_, index) => [
        ...times(askers, () => this.#ask(index)),
        ...times(readers, () => this.#read(index, restMs)),
        this.#readWarm(index),
      ]),
      ...times(writers, () => this.#write(restMs)),
    ]);
    // A failure is told by `end`, however late that is asked for.
    this.#all.catch(() => undefined);
  }

  /** Ends the traffic; resolves when the last answer is there. */
  async end(): Promise<void> {
    this.#over = true;
    await this.#all;
  }

  async #ask(replica: number): Promise<void> {
    while (!this.#over) {
      this.#lastId += 1;
      const variables = { id: String(this.#lastId) };
      try {
        const { errors } = await this.#cluster.ask(replica, { query: USER, variables });
        if (!errors) {
          this.pressed.answered += 1;
          continue;
        }
        const code = errors[0]?.extensions?.code ?? 'none';
        this.pressed.codes[code] = (this.pressed.codes[code] ?? 0) + 1;
      } catch {
        this.pressed.unreachable += 1;
      }
      // A client that is refused or reaches no replica asks again, not immediately.
      await pause(100 + this.#roll(200));
    }
  }

  async #read(replica: number, restMs: number): Promise<void> {
    while (!this.#over) {
      await this.truth.read(replica, nouns[this.#roll(nouns.length)] ?? 'campaigns');
      await pause(this.#roll(restMs));
    }
  }

  /** Asks one replica again and again for unchanged data. */
  async #readWarm(replica: number): Promise<void> {
    /** The process that has answered it before. */
    let warm = 0;
    while (!this.#over) {
      const { pid } = this.#cluster.replica(replica);
      try {
        const { errors } = await this.#cluster.ask(replica, { query: '{ account { username } }' });
        if (!errors) {
          if (warm === pid) this.pressed.warm += 1;
          warm = pid;
        } else if (warm === pid) {
          this.pressed.warmFailures.push(errors[0]?.extensions?.code ?? 'none');
        }
      } catch {
        // It is dead or asleep, and cannot be reached.
      }
      await pause(50 + this.#roll(100));
    }
  }

  async #write(restMs: number): Promise<void> {
    const { length } = this.#cluster.replicas;
    while (!this.#over) {
      const noun = nouns[this.#roll(nouns.length)] ?? 'campaigns';
      const writer = this.#roll(length);
      if (await this.truth.write(writer, noun, 1 + this.#roll(ROWS))) {
        await Promise.all(
          this.#cluster.replicas.map(async (_, index) => {
            const came = await this.truth.read(index, noun);
            if (came === 'right' && index !== writer) this.pressed.pairs += 1;
          }),
        );
      }
      await pause(this.#roll(restMs));
    }
  }
}
