import * as fc from 'fast-check';
import { it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { rounds } from '../support/rounds.ts';

const SCHEDULES = rounds(3);

const queries = [
  'query @live { campaigns(first: 500) { totalCount nodes { id databaseId name } } }',
  'query @live { campaigns(last: 4) { edges { cursor node { id name } } pageInfo { hasNextPage } } }',
  'query @live { pixels(first: 10) { nodes { id name tag } } campaigns(first: 2) { nodes { name } } }',
  'query @live { channels(first: 4) { nodes { id name items(first: 3) { totalCount nodes { __typename } } } } }',
  'query @live { account { username } channels(first: 2) { nodes { databaseId: id name } } }',
  'query @live { nodes(ids: ["Q2FtcGFpZ246MQ", "Q2FtcGFpZ246Mg"]) { id ... on Campaign { name } } }',
] as const;

const nouns = ['campaign', 'channel', 'pixel'] as const;
type Noun = (typeof nouns)[number];

/** How a row is made through the gateway, and what else its input needs. */
const inputs: Readonly<Record<Noun, readonly [type: string, more: string]>> = {
  campaign: ['Campaign', ''],
  channel: ['Channel', ''],
  pixel: ['Pixel', ', type: GTM, tag: "GTM-1"'],
};

/** Short ttls: each second of virtual time costs a little real time. */
const short = Object.fromEntries(
  ['account', 'campaigns', 'channels', 'channelItems', 'pixels'].map((name) => [
    `ttl.${name}`,
    '8000',
  ]),
);

const noun = fc.constantFrom(...nouns);
const row = fc.nat({ max: 9 });
const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('look' as const), query: fc.nat({ max: 5 }) }),
  },
  fc.record({ do: fc.constant('leave' as const), viewer: row }),
  fc.record({ do: fc.constant('resume' as const), viewer: row }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create' as const), noun }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('rename' as const), noun, row }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), noun, row }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('elsewhere' as const), noun, row }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat({ max: 15_000 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Looks at queries while everything changes, and holds what each viewer sees against what the query answers. */
class Play {
  readonly #door: Door;
  readonly #viewers: { readonly query: string; viewer: LiveViewer }[] = [];
  #names = 0;

  constructor(door: Door) {
    this.#door = door;
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'look':
        await this.#look(queries[step.query] ?? queries[0]);
        break;
      case 'leave':
        this.#leave(step.viewer);
        break;
      case 'resume':
        await this.#resume(step.viewer);
        break;
      case 'create':
        await this.#create(step.noun);
        break;
      case 'rename':
        await this.#rename(step.noun, step.row);
        break;
      case 'delete':
        await this.#delete(step.noun, step.row);
        break;
      case 'elsewhere':
        await this.#elsewhere(step.noun, step.row);
        break;
      default:
        await this.#door.clock.advance(step.ms);
    }
  }

  /** Several things at a time; then everybody sees what the query answers now. */
  async takeTogether(steps: readonly Step[]): Promise<void> {
    const [passing, others] = [true, false].map((is) =>
      steps.filter((step) => (step.do === 'pass') === is),
    ) as [Step[], Step[]];
    await Promise.all(others.map((step) => this.take(step)));
    for (const step of passing) await this.take(step);
    await this.agree(this.#door);
  }

  /** When all is quiet, everybody sees what a query answers, and what is true. */
  async end(): Promise<void> {
    await this.#door.clock.advance(30_000);
    await this.agree(this.#door);
    for (const { viewer } of this.#viewers) viewer.close();
  }

  /** Waits until everybody sees what a gateway answers. */
  async agree(door: Door): Promise<void> {
    for (const { query, viewer } of this.#viewers) {
      if (viewer.ended) continue;
      const { data, errors } = await door.ask(query);
      const expected = JSON.stringify(errors.length > 0 ? { data, errors } : { data });
      await viewer.until(({ document }) => JSON.stringify(document) === expected);
    }
  }

  async #look(query: string): Promise<void> {
    for (const readsAges of [true, false]) {
      const viewer = LiveViewer.open(this.#door.url, { query, readsAges });
      this.#viewers.push({ query, viewer });
      await viewer.until(({ ended, revision }) => ended || revision > 0);
    }
  }

  async #resume(at: number): Promise<void> {
    const away = this.#viewers.filter(({ viewer }) => viewer.ended);
    const before = away[at % Math.max(1, away.length)];
    if (!before) return;
    const { query } = before;
    const viewer = LiveViewer.open(this.#door.url, { query });
    before.viewer = viewer;
    await viewer.until(({ ended, events }) => ended || events.length > 0);
  }

  #leave(at: number): void {
    const here = this.#viewers.filter(({ viewer }) => !viewer.ended && viewer.revision > 0);
    here[at % Math.max(1, here.length)]?.viewer.close();
  }

  get #name(): string {
    this.#names += 1;
    return `name ${this.#names}`;
  }

  async #ids(noun: Noun): Promise<readonly number[]> {
    const { data } = await this.#door.ask(`{ list: ${noun}s(first: 20) { nodes { databaseId } } }`);
    const list = data?.['list'] as {
      readonly nodes: readonly { readonly databaseId: number }[];
    } | null;
    return (list?.nodes ?? []).map(({ databaseId }) => databaseId);
  }

  async #create(noun: Noun): Promise<void> {
    const [type, more] = inputs[noun];
    await this.#door.ask(
      `mutation { create${type}(input: { name: "${this.#name}"${more} }) { __typename } }`,
    );
  }

  async #rename(noun: Noun, row: number): Promise<void> {
    const [type] = inputs[noun];
    const id = (await this.#ids(noun))[row];
    const input = `{ id: ${id}, name: "${this.#name}"${noun === 'pixel' ? ', tag: "t"' : ''} }`;
    if (id) await this.#door.ask(`mutation { update${type}(input: ${input}) { __typename } }`);
  }

  async #delete(noun: Noun, row: number): Promise<void> {
    const [type] = inputs[noun];
    const id = (await this.#ids(noun))[row];
    if (id) await this.#door.ask(`mutation { delete${type}(id: ${id}) { __typename } }`);
  }

  async #elsewhere(noun: Noun, row: number): Promise<void> {
    const id = (await this.#ids(noun))[row];
    if (!id) return;
    const { key, url } = this.#door.sandbox.links;
    await fetch(`${url}/api/${noun}/${id}/${row % 3 === 0 ? 'delete' : 'update'}`, {
      method: row % 3 === 0 ? 'DELETE' : 'PUT',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: this.#name, tag: 't' }),
    });
  }
}

it('whatever is changed through the gateway is on every stream, with or without requests', async () => {
  const write = step.filter(({ do: what }) => ['create', 'delete', 'rename'].includes(what));
  const together = fc.array(write, { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(together, { minLength: 1, maxLength: 4 }), async (steps) => {
      const door = await openDoor({ AUTH_MODE: 'none', LOG_LEVEL: 'silent' });
      // It knows nothing of the first, and the first nothing of what it is asked.
      const other = await openDoor(
        { AUTH_MODE: 'none', LOG_LEVEL: 'silent' },
        { on: door.sandbox },
      );
      door.sandbox.links.fault({ kind: 'slow', method: 'GET', delayMs: 10, applied: true });
      try {
        const play = new Play(door);
        await Promise.all(queries.map((_, query) => play.take({ do: 'look', query })));
        for (const each of steps) {
          await Promise.all(each.map((one) => play.take(one)));
          await play.agree(other);
          await other.clock.advance(60 * 60_000);
        }
      } finally {
        await other.close();
        await door.close();
      }
    }),
    { numRuns: SCHEDULES, endOnFailure: true },
  );
});

it('whatever is looked at and changed: each viewer sees what the query answers', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 4, maxLength: 12 }),
      fc.boolean(),
      async (steps, isSlow) => {
        const door = await openDoor({ AUTH_MODE: 'none', LOG_LEVEL: 'silent', ...short });
        // Answers that show what was when they were asked for, so that changes come between.
        if (isSlow) {
          door.sandbox.links.fault({ kind: 'slow', method: 'GET', delayMs: 20, applied: true });
        }
        try {
          const play = new Play(door);
          for (const together of steps) await play.takeTogether(together);
          await play.end();
        } finally {
          await door.close();
        }
      },
    ),
    { numRuns: SCHEDULES, endOnFailure: true },
  );
});
