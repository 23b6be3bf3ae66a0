import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type Role, roles } from '../../src/auth/viewer.ts';
import { type Door, openDoor } from '../support/door.ts';

/** Reads of every kind that an answer can depend on, one that changes by itself, and two that are refused. */
const operations: readonly { readonly query: string; readonly variables?: object }[] = [
  { query: '{ account { username email } }' },
  { query: '{ campaigns(first: 3) { nodes { name } totalCount } }' },
  {
    query:
      '{ campaigns(first: 3) { nodes { name } totalCount } channels(first: 2) { nodes { name } } }',
  },
  { query: '{ channels(first: 3) { nodes { name items(first: 2) { nodes { id } } } } }' },
  { query: 'query C($id: ID!) { campaign(id: $id) { name public } }', variables: { id: '1' } },
  { query: 'query C($id: ID!) { campaign(id: $id) { name public } }', variables: { id: '999999' } },
  { query: '{ items(first: 2) { nodes { name } } campaigns(first: 1) { nodes { name } } }' },
  { query: '{ account { username } rateLimit { remaining used cost } }' },
  { query: '{ plans { name } }' },
  { query: '{ campaigns(first: 1) { nodes { nothing } } }' },
];

const callers = ['viewer', 'editor', 'admin', 'stranger'] as const;

type Step =
  | { readonly kind: 'ask'; readonly operation: number; readonly caller: (typeof callers)[number] }
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'elsewhere'; readonly name: string }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'role'; readonly caller: 'viewer' | 'editor'; readonly role: Role };

const letters = fc.stringMatching(/^[a-z]{1,8}$/);

/** A few operations and callers, so that the same is asked often between two changes. */
const play: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.uniqueArray(fc.nat({ max: operations.length - 1 }), { minLength: 2, maxLength: 3 }),
    fc.shuffledSubarray([...callers], { minLength: 2, maxLength: 2 }),
  )
  .chain(([asked, asking]) => {
    const ask = fc.record({
      kind: fc.constant('ask' as const),
      operation: fc.constantFrom(...asked),
      caller: fc.constantFrom(...asking),
    });
    const change = fc.oneof(
      fc.record({ kind: fc.constant('rename' as const), name: letters }),
      fc.record({ kind: fc.constant('elsewhere' as const), name: letters }),
      fc.record({
        kind: fc.constant('wait' as const),
        ms: fc.constantFrom(1, 900, 1001, 20_000, 48_001, 61_000, 130_000),
      }),
      fc.record({
        kind: fc.constant('role' as const),
        caller: fc.constantFrom('viewer' as const, 'editor' as const),
        role: fc.constantFrom(...roles),
      }),
    );
    const step = fc.oneof({ weight: 3, arbitrary: ask }, { weight: 2, arbitrary: change });
    return fc.array<Step>(step, { minLength: 20, maxLength: 40 });
  });

/** A gateway whose callers' roles can be changed while it runs. */
class Scene {
  readonly #folder = mkdtempSync(join(tmpdir(), 'answers-'));
  readonly #file = join(this.#folder, 'tokens.json');
  readonly #roles = new Map<string, Role>([
    ['viewer', 'viewer'],
    ['editor', 'editor'],
    ['admin', 'admin'],
  ]);
  door!: Door;

  async open(): Promise<this> {
    this.#write();
    this.door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: this.#file });
    return this;
  }

  async close(): Promise<void> {
    await this.door.close();
    rmSync(this.#folder, { recursive: true });
  }

  async change(caller: string, role: Role): Promise<void> {
    this.#roles.set(caller, role);
    this.#write();
    await this.door.clock.advance(1000);
  }

  #write(): void {
    const tokens = [...this.#roles].map(([name, role]) => ({
      name,
      role,
      sha256: hash('sha256', name),
    }));
    writeFileSync(this.#file, formatTokenFile(tokens));
  }

  /** The whole way: what comes through `fetch` has no socket, and nothing is remembered of it. */
  async whole(operation: number, caller: string): Promise<string> {
    const response = await this.door.gateway.fetch(
      new Request('http://gateway/graphql', this.#request(operation, caller)),
    );
    return told(response, await response.text());
  }

  async short(operation: number, caller: string): Promise<string> {
    const response = await fetch(`${this.door.url}/graphql`, this.#request(operation, caller));
    return told(response, await response.text());
  }

  #request(operation: number, caller: string): RequestInit {
    return {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        authorization: `Bearer ${caller}`,
      },
      body: JSON.stringify(operations[operation]),
    };
  }
}

/** Status, body, and the headers that the graph is answerable for. */
function told({ headers, status }: Response, text: string): string {
  const names = ['content-type', 'cache-control', 'www-authenticate', 'retry-after'];
  return [status, ...names.map((name) => headers.get(name)), text].join('\n');
}

/** How many answers were given from remembered bytes. */
async function remembered({ url }: Door): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^gateway_remembered_answers_total (\d+)/m.exec(text)?.[1]);
}

describe('A remembered answer', () => {
  it('is what the whole way answers at the same moment', { timeout: 120_000 }, async () => {
    let compared = 0;
    let fromMemory = 0;
    await fc.assert(
      fc.asyncProperty(play, async (steps) => {
        const scene = await new Scene().open();
        const { door } = scene;
        try {
          for (const each of steps) {
            if (each.kind === 'wait') await door.clock.advance(each.ms);
            else if (each.kind === 'role') await scene.change(each.caller, each.role);
            else if (each.kind === 'rename') await rename(door, each.name);
            else if (each.kind === 'elsewhere') await elsewhere(door, each.name);
            else {
              const { caller, operation } = each;
              const before = await scene.whole(operation, caller);
              const short = [];
              // The first is noted, the second remembered, and the third is given from memory.
              for (let n = 0; n < 3; n += 1) short.push(await scene.short(operation, caller));
              const after = await scene.whole(operation, caller);
              // What lands between the two is no fault of the one in the middle.
              if (before !== after) continue;
              compared += 1;
              expect(short).toEqual([before, before, before]);
            }
          }
          fromMemory += await remembered(door);
        } finally {
          await scene.close();
        }
      }),
      { numRuns: Number(process.env['ANSWER_RUNS'] ?? 16) },
    );
    expect(fromMemory).toBeGreaterThan(compared / 2);
  });
});

async function rename(door: Door, name: string): Promise<void> {
  const mutation =
    'mutation($name: String!) { updateCampaign(input: { id: "1", name: $name }) { __typename } }';
  const { errors } = await door.ask(mutation, 'admin', { variables: { name } });
  expect(errors).toEqual([]);
}

async function elsewhere({ sandbox: { links } }: Door, name: string): Promise<void> {
  await fetch(`${links.url}/api/campaign/1/update`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${links.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
}
