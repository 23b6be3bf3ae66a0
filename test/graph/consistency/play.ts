import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Fault, Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Row, World } from '../../support/gateway.ts';
import type { Change, Sighting, Truth, View } from './truth.ts';

/** A schedule is a list of these; each is followed by some turns of the event loop. */
type Step = { readonly turns: number } & (
  | { readonly does: 'read' | 'write' | 'release'; readonly which: number }
  /** The next read upstream is not answered until it is released; `early`: from before the wait. */
  | { readonly does: 'hold'; readonly early: boolean }
  | { readonly does: 'fate'; readonly fate: Fate }
  | { readonly does: 'break'; readonly kind: 'drop' | 'error-500' }
  | { readonly does: 'pass'; readonly ms: number }
);

/** What becomes of the next write. */
type Fate = 'held, done before' | 'held, done after' | 'lost, done' | 'lost, not done' | 'refused';

/** How long the answers of all themes are fresh, in milliseconds. */
export const TTL = 60_000;
const which = fc.nat(1000);
const turns = fc.constantFrom(0, 0, 1, 5, 20);
/** Schedules at random. */
export const steps = fc.array<Step>(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ does: fc.constant('read' as const), which, turns }) },
    { weight: 6, arbitrary: fc.record({ does: fc.constant('write' as const), which, turns }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('release' as const), which, turns }) },
    {
      weight: 5,
      arbitrary: fc.record({ does: fc.constant('hold' as const), early: fc.boolean(), turns }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        does: fc.constant('fate' as const),
        fate: fc.constantFrom<Fate>(
          'held, done before',
          'held, done before',
          'held, done after',
          'lost, done',
          'lost, done',
          'lost, not done',
          // After it, requests go one at a time for the rest of the schedule.
          'refused',
        ),
        turns,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constant('break' as const),
        kind: fc.constantFrom('drop' as const, 'error-500' as const),
        turns,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        does: fc.constant('pass' as const),
        ms: fc.constantFrom(1000, 0.9 * TTL, TTL + 1, 2 * TTL + 1),
        turns,
      }),
    },
  ),
  { minLength: 6, maxLength: 30 },
);

/** Lets the event loop turn this many times. */
export async function turn(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** What a schedule is carried out with. */
interface PlayOptions {
  readonly sandbox: Sandbox;
  /** Asks a gateway. */
  readonly ask: World['ask'];
  /** Lets so much time pass, in milliseconds. */
  readonly pass: (ms: number) => Promise<void>;
  readonly truth: Truth;
  readonly views: readonly View[];
  readonly changes: readonly Change[];
}

/** A schedule being carried out. Nothing in it waits for an answer, but for the very end. */
export class Play {
  readonly #options: PlayOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #held: (() => void)[] = [];
  readonly #failures: unknown[] = [];
  #fate: Fate | undefined;
  readonly sightings: Sighting[] = [];

  constructor(options: PlayOptions) {
    this.#options = options;
  }

  async step(step: Step): Promise<void> {
    switch (step.does) {
      case 'read':
        this.#run(this.read(pick(this.#options.views, step.which)));
        break;
      case 'write':
        this.#write(pick(this.#options.changes, step.which));
        break;
      case 'release':
        this.#held.splice(step.which % Math.max(1, this.#held.length), 1)[0]?.();
        break;
      case 'hold':
        this.#fault({ ...this.#hold(), method: 'GET', applied: step.early });
        break;
      case 'break':
        this.#fault({ kind: step.kind, method: 'GET' });
        break;
      case 'fate':
        this.#fate = step.fate;
        break;
      case 'pass':
        await this.#options.pass(step.ms);
    }
    await turn(step.turns);
  }

  /** Lets everything end. */
  async end(): Promise<void> {
    for (const release of this.#held.splice(0)) release();
    while (this.#running.size > 0) {
      await this.#options.pass(1000);
      for (const release of this.#held.splice(0)) release();
    }
    this.#options.sandbox.links.clearFaults();
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Reads, and notes what was seen; an error shows nothing. */
  async read(view: View): Promise<void> {
    const since = this.#options.truth.now;
    const { data, errors, receipt } = await this.#options.ask(view.query, {}, PATIENT);
    const isStale = receipt.stale > 0;
    if (errors.length === 0) this.sightings.push(...see(view, data, { since, isStale }));
  }

  #write(change: Change): void {
    const { mutation, path, shows, ...effect } = change(this.#options.truth);
    const attempt = this.#options.truth.attempt(effect);
    if (!attempt) return;
    const begun = this.#options.truth.now;
    const fate = this.#fate;
    this.#fate = undefined;
    const remove = fate && this.#fault({ ...this.#faultOf(fate), path });
    const selection = shows ? `... on ${shows.query}` : '';
    const run = async (): Promise<void> => {
      const query = `mutation { result: ${mutation} { __typename ${selection} } }`;
      const { ask } = this.#options;
      const { data, errors, receipt } = await ask<{ result: Row | null }>(query, {}, PATIENT);
      remove?.();
      const result = data?.result ?? null;
      const typename = result?.['__typename'];
      expect(typename, JSON.stringify(data)).not.toBe('InvalidInput');
      const unknown = errors.some(({ extensions }) => extensions?.code === 'OUTCOME_UNKNOWN');
      const done = unknown
        ? fate === 'lost, done' && attempt.possible
        : result !== null && typename !== 'Rejected';
      attempt.end(done, unknown);
      if (shows && done && result && errors.length === 0) {
        // What it reads afterwards was read at some time since it began, but not before its own write.
        const isStale = receipt.stale > 0;
        for (const sighting of see(shows, result, { since: begun, isStale })) {
          const own = sighting.register in effect.values;
          this.sightings.push(own ? { ...sighting, since: this.#options.truth.now } : sighting);
        }
      }
    };
    this.#run(run());
  }

  #faultOf(fate: Fate): Fault {
    if (fate === 'refused') return { kind: 'refuse-429', retryAfter: 1 };
    const done = fate.endsWith(', done') || fate === 'held, done before';
    return fate.startsWith('lost')
      ? { kind: 'drop', applied: done }
      : { ...this.#hold(), applied: done };
  }

  #hold(): Fault & { kind: 'hold' } {
    const until = new Promise<void>((resolve) => {
      this.#held.push(resolve);
    });
    return { kind: 'hold', until };
  }

  #fault(fault: Fault): () => void {
    return this.#options.sandbox.links.fault({ ...fault, times: 1 });
  }

  #run(promise: Promise<void>): void {
    this.#running.add(promise);
    const ended = (): void => {
      this.#running.delete(promise);
    };
    promise.then(ended, (error: unknown) => {
      this.#failures.push(error);
      ended();
    });
  }
}

/** No caller here gives up waiting for a turn. */
const PATIENT = { prefer: 'wait=600' };

function see(
  { query, sees }: View,
  data: Row,
  when: Pick<Sighting, 'since' | 'isStale'>,
): Sighting[] {
  return sees(data).map(([register, fits]) => ({ register, fits, where: query, ...when }));
}

function pick<T>(choices: readonly T[], n: number): T {
  return choices[n % choices.length] as T;
}
