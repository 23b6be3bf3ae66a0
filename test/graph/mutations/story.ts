import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Fault, type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import {
  type Answer,
  type Row,
  startWorld,
  type World,
  type WorldOptions,
} from '../../support/gateway.ts';
import { until } from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Requests a minute: more than a story needs, and few enough to reckon with when one is refused. */
const LIMIT = 1000;

/** What a mutation answers: the entity as it was selected, or a refusal. */
export interface Result extends Row {
  readonly __typename: string;
  readonly message?: string;
  readonly issues?: readonly { readonly path: readonly string[]; readonly message: string }[];
}

/** One request that changes something, as it went over the wire. */
interface Written {
  readonly method: string;
  readonly path: string;
  /** Absent when there was none. */
  readonly body?: unknown;
}

/** A stage for the stories of one file: the same data and an empty cache at the start of each test. */
export class Stage {
  #sandbox: Sandbox | undefined;
  #world: World | undefined;
  readonly #others: World[] = [];

  constructor() {
    beforeAll(async () => {
      this.#sandbox = await startSandbox({ limit: { requests: LIMIT } });
    });
    beforeEach(async () => {
      this.sandbox.reset();
      this.#world = await this.open();
    });
    afterEach(async () => {
      await Promise.all(this.#others.splice(0).map((world) => world.close()));
    });
    afterAll(() => this.sandbox.close());
  }

  get sandbox(): Sandbox {
    if (!this.#sandbox) throw new Error('asked before the first test');
    return this.#sandbox;
  }

  get world(): World {
    if (!this.#world) throw new Error('asked before the first test');
    return this.#world;
  }

  /** A further gateway on the same sandbox, with a memory of its own. */
  async open(options: WorldOptions = {}): Promise<World> {
    const env = { LINKS_RATE_LIMIT: String(LIMIT), ...NO_LOOK, ...options.env };
    const world = await startWorld({ on: this.sandbox, ...options, env });
    this.#others.push(world);
    return world;
  }

  /**
   * Sends a mutation, `entity` being a selection such as `Pixel { name }`, and counts what it cost.
   * The receipt must say the same as the sandbox's own log.
   */
  async change(
    mutation: string,
    entity: string,
    world = this.world,
  ): Promise<Answer<{ result: Result } | null> & { result: Result; calls: string[] }> {
    world.forgetCalls();
    const answer = await world.ask<{ result: Result } | null>(`mutation {
      result: ${mutation} {
        __typename
        ... on ${entity}
        ... on InvalidInput { message issues { path message } }
        ... on Rejected { message upstream }
      }
    }`);
    const calls = world.calls();
    expect(answer.receipt.calls).toBe(calls.length);
    return { ...answer, calls, result: answer.data?.result ?? { __typename: 'none' } };
  }

  /** What the gateway has sent that was no read, refused ones included. */
  get written(): Written[] {
    return this.sandbox.links.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path, query, body }) => {
        expect(query).toEqual({});
        return body === undefined ? { method, path } : { method, path, body };
      });
  }

  /** Waits until a request has met the fault of this kind, by events and no clock. */
  async met(kind: Fault['kind']): Promise<void> {
    await until(() => this.sandbox.links.requests.some(({ fault }) => fault === kind));
  }

  /** Lets the endpoint do its work, and puts other words into its mouth. */
  answer(path: string, body: unknown, status = 200): void {
    this.sandbox.links.fault({
      kind: 'answer',
      path,
      rewrite: ({ headers }) => ({ status, headers, body }),
    });
  }
}

/** The global ID of an entity. */
export const globalIdOf = (type: string, id: number): string =>
  Buffer.from(`${type}:${id}`).toString('base64url');

/** A mutation whose one request is sent under bad conditions. */
export interface Story {
  readonly mutation: string;
  /** What it answers when all goes well, e.g. `Pixel`. */
  readonly typename: string;
  readonly wire: Written;
  /** What to look at when the outcome is unknown, as `extensions.check` says it. */
  readonly check: string;
  /** Reads what the mutation changes ... */
  readonly look: string;
  /** ... and counts how often it shows there: 0 before, 1 after, 2 would be a duplicate. */
  readonly times: (data: never) => number | Promise<number>;
}

/**
 * What makes no difference to the noun is tested with some: of the ways, those of the `at`th of several mutations, by
 * turns, so that all of them together meet each way several times.
 */
export function byTurns<T>(ways: readonly T[], at: number, count: number): T[] {
  return Array.from({ length: count }, (_, n) => ways[(at * count + n) % ways.length] as T);
}

const ambiguities: readonly (readonly [string, Fault])[] = [
  ['the connection breaks', { kind: 'drop', applied: true }],
  ['half an answer', { kind: 'truncated' }],
  ['HTTP 500', { kind: 'error-500', applied: true }],
  ['HTML with status 200', { kind: 'html', applied: true }],
  ['HTML with status 502', { kind: 'html', status: 502, applied: true }],
  ['an empty body with status 200', { kind: 'empty', applied: true }],
  ['an empty body with status 503', { kind: 'empty', status: 503, applied: true }],
];

/** No caller waits until the effect of a lost write is looked for. */
const NO_LOOK = { writeSettleMs: '20000' };

/** The tests that every write has in common: it is done once, or its outcome is reported as unknown. */
export function behavesWhenDisturbed(stage: Stage, story: Story, at: number): void {
  const { mutation, typename, wire, check, look, times } = story;
  const entity = `${typename} { __typename }`;
  const seen = async (world: World) => times(await world.data(look));

  const expectUnknown = (answer: Awaited<ReturnType<Stage['change']>>): void => {
    expect(Object.values(answer.data ?? {})).toEqual([null]);
    expect(answer.errors).toHaveLength(1);
    const [error] = answer.errors;
    expect(error?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', upstream: 'LINKS', check });
    expect(error?.message).toContain(check);
    expect(stage.written).toEqual([wire]);
  };

  it.each(byTurns(ambiguities, at, 2))(
    'says what to check after %s, and never repeats itself',
    async (_, fault) => {
      expect(await seen(stage.world)).toBe(0);
      stage.sandbox.links.fault({ ...fault, method: wire.method, path: wire.path });
      expectUnknown(await stage.change(mutation, entity));
      stage.sandbox.links.clearFaults();
      expect(await seen(stage.world)).toBe(1);
      expect(stage.written).toEqual([wire]);
    },
  );

  it('says what to check when no answer comes in time, and never repeats itself', async () => {
    const clock = new VirtualClock();
    const world = await stage.open({ clock });
    expect(await seen(world)).toBe(0);
    stage.sandbox.links.fault({ kind: 'hang', applied: true, method: wire.method });
    const changing = stage.change(mutation, entity, world);
    await stage.met('hang');
    await clock.advance(10_000);
    expectUnknown(await changing);
    stage.sandbox.links.clearFaults();
    expect(await seen(world)).toBe(1);
    expect(stage.written).toEqual([wire]);
  });

  it.each(byTurns(['refuse-429', 'refuse-200'] as const, at, 1))(
    'is sent again after %s, and done once',
    async (kind) => {
      const clock = new VirtualClock();
      // Only the wait for a turn takes time here, however slow the machine is.
      const world = await stage.open({ clock, env: { LINKS_TIMEOUT_MS: String(DAY) } });
      expect(await seen(world)).toBe(0);
      stage.sandbox.links.fault({ kind, retryAfter: 2, times: 1, method: wire.method });
      const changing = stage.change(mutation, entity, world);
      await stage.met(kind);
      const { result, receipt } = await passTime(clock, changing);
      expect(result).toEqual({ __typename: typename });
      expect(receipt).toMatchObject({ calls: 2 });
      expect(receipt.waitedMs).toBeGreaterThanOrEqual(2000);
      expect(stage.written).toEqual([wire, wire]);
      expect(await seen(world)).toBe(1);
    },
  );
}

const DAY = 86_400_000;

/** Lets time pass until the promise is settled. */
export async function passTime<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  const note = (): void => {
    state.settled = true;
  };
  promise.then(note, note);
  while (!state.settled) await clock.advance(100);
  return promise;
}

/** The ways in which installations say yes; `members` is what they say besides. */
export function yeses(members: Row): [string, Row, number][] {
  const asText = Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, textOf(value)]),
  );
  return [
    ['as documented', { error: 0, ...members }, 200],
    ['with everything as text', { error: '0', ...asText }, 200],
    ['with `error` false', { error: false, ...members }, 200],
    ['with its members in `data`', { error: 0, message: 'Done.', data: members }, 200],
    ['with `error` in `data` too', { data: { error: '0', ...asText } }, 200],
    ['with HTTP 201', { error: 0, message: 'Done.', ...members }, 201],
    ['with an empty list as `data`', { error: 0, data: [], ...members }, 200],
    [
      'with unknown members and nulls',
      { error: 0, extra: { a: [1] }, data: null, ...members },
      200,
    ],
    ['with HTTP 500', { error: 0, ...members }, 500],
  ];
}

function textOf(value: unknown): string {
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}

/** The ways in which installations say no, and what a caller is told. */
export const noes: readonly (readonly [string, Row, number, string])[] = [
  ['1', { error: 1, message: 'Not like this.' }, 200, 'Not like this.'],
  ['"1"', { error: '1', message: 'Not like this.' }, 400, 'Not like this.'],
  ['true', { error: true, msg: 'Not like this.' }, 422, 'Not like this.'],
  ['1 and success in its words', { error: 1, message: 'Success!' }, 200, 'Success!'],
  ['1 and HTML escapes', { error: 1, message: 'O&#039;Hara &amp;amp; Co' }, 200, "O'Hara &amp; Co"],
  ['1 and nothing else', { error: 1 }, 200, 'The API gave no reason.'],
  ['1 and that it is not there', { error: 1, message: 'Not found.' }, 404, 'Not found.'],
];
