import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import type { JobFiles } from '../../../src/jobs/storage/job-files.ts';
import { anyText } from '../../support/any-text.ts';
import { rounds } from '../../support/rounds.ts';
import {
  contentOf,
  folderAt,
  type JobContent,
  type Marked,
  onlyJobAt,
  removeScratch,
  scratch,
} from './job-stage.ts';

afterEach(removeScratch);

/** What a job does. */
type Step =
  | { readonly kind: 'append'; readonly lines: readonly string[] }
  | { readonly kind: 'seen'; readonly names: readonly string[] }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'restart' };

const anyLine = anyText(30).map((text) => JSON.stringify(text));
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      lines: fc.array(anyLine, { maxLength: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('seen' as const),
      names: fc.array(anyText(8), { maxLength: 5 }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'checkpoint' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
);

/** What the machine had not written completely. */
interface Tail {
  readonly data: Uint8Array;
  readonly seen: Uint8Array;
  /** A part of the next record; `null` if that was not begun. */
  readonly record: Uint8Array | null;
}

const anyBytes = fc.uint8Array({ maxLength: 40 });
const anyTail: fc.Arbitrary<Tail> = fc.record({
  data: anyBytes,
  seen: anyBytes,
  record: fc.option(anyBytes),
});

/** A copy of a folder as a kill would leave it now. The record first: the others only grow. */
function killed(root: string, tail: Tail | null): string {
  const copy = scratch();
  for (const id of readdirSync(root)) {
    mkdirSync(join(copy, id));
    for (const name of ['job.json', 'job.json.new', 'data.jsonl', 'seen']) {
      const from = join(root, id, name);
      if (existsSync(from)) copyFileSync(from, join(copy, id, name));
    }
    if (!tail) continue;
    appendFileSync(join(copy, id, 'data.jsonl'), tail.data);
    appendFileSync(join(copy, id, 'seen'), tail.seen);
    if (tail.record) writeFileSync(join(copy, id, 'job.json.new'), tail.record);
  }
  return copy;
}

/** A text that changes with any file of a folder. */
function stateOf(root: string): string {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return paths
    .map((path) => {
      const found = statSync(join(root, path), { bigint: true, throwIfNoEntry: false });
      return found ? `${path} ${found.ino} ${found.mtimeNs} ${found.size}` : '';
    })
    .join('\n');
}

async function contentAfterKill(root: string, tail: Tail | null = null): Promise<JobContent> {
  return contentOf(await onlyJobAt(killed(root, tail)));
}

/** A job with what it should have. */
class Model {
  readonly root = scratch();
  saved: JobContent = { mark: '0', data: '', seen: [] };
  now: JobContent = this.saved;
  #checkpoints = 0;
  #files: JobFiles<Marked> | null = null;

  async take(step: Step): Promise<void> {
    this.#files ??= await folderAt(this.root).create('a-1', { mark: '0' });
    const { data, seen } = this.now;
    switch (step.kind) {
      case 'append': {
        const lines = step.lines.map((line) => `${line}\n`).join('');
        this.now = { ...this.now, data: data + lines };
        return this.#files.append(lines);
      }
      case 'seen':
        this.now = { ...this.now, seen: [...seen, ...step.names] };
        return this.#files.appendSeen(step.names);
      case 'checkpoint':
        return this.#checkpoint(this.#files);
      case 'restart':
        await this.#files.close();
        this.#files = await onlyJobAt(this.root);
        this.now = this.saved;
        expect(await contentOf(this.#files)).toEqual(this.saved);
    }
  }

  async close(): Promise<void> {
    await this.#files?.close();
  }

  /** It is killed in each turn of the event loop while the checkpoint is being saved. */
  async #checkpoint(files: JobFiles<Marked>): Promise<void> {
    const before = this.saved;
    this.#checkpoints += 1;
    const after = { ...this.now, mark: String(this.#checkpoints) };
    let isSaved = false;
    // oxlint-disable-next-line promise/always-return
    const saving = files.checkpoint({ mark: after.mark }).then(() => {
      isSaved = true;
    });
    const copies: string[] = [];
    let seen = '';
    // oxlint-disable-next-line no-unmodified-loop-condition
    while (!isSaved) {
      // A slow disk takes many turns for one step.
      const now = stateOf(this.root);
      if (now !== seen) copies.push(killed(this.root, null));
      seen = now;
      await setImmediate();
    }
    await saving;
    for (const copy of copies) {
      expect([before, after]).toContainEqual(await contentOf(await onlyJobAt(copy)));
    }
    this.saved = after;
    this.now = after;
  }
}

it('a killed job continues exactly at its last checkpoint', async () => {
  const cases = fc.array(fc.tuple(anyStep, anyTail), { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(cases, async (steps) => {
      const model = new Model();
      for (const [step, tail] of steps) {
        await model.take(step);
        expect(await contentAfterKill(model.root)).toEqual(model.saved);
        expect(await contentAfterKill(model.root, tail)).toEqual(model.saved);
      }
      await model.close();
      removeScratch();
    }),
    { numRuns: rounds(25) },
  );
});
