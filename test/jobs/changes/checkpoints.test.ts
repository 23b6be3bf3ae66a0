import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import type { JobRecord } from '../../../src/jobs/job.ts';
import { rounds } from '../../support/rounds.ts';
import { jobWorld } from '../job-world.ts';

/** Two changes in each line: the second one fails in some of them. */
const CHANGES = `mutation($name: String!, $id: ID!) {
  createPixel(input: {name: $name, tag: "GTM-1", type: GTM}) { ... on Pixel { name } }
  updateChannel(input: {id: $id, name: $name}) { ... on Channel { name } ... on Rejected { message } }
}`;

/** Gateways on a folder of jobs whose checkpoints are seen, and can be put back. */
async function checkpointWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'checkpoints-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const world = await jobWorld({ env: { JOBS_DIR: folder } });
  /** The number of a job, which is the name of its folder. */
  const fileOf = async (id: string) => {
    const { url } = await world.job(id);
    return join(folder, /\d+/.exec(url ?? '')?.[0] ?? '', 'job.json');
  };
  return {
    ...world,
    recordOf: (checkpoint: string) => (JSON.parse(checkpoint) as { record: JobRecord }).record,
    /** Adds the checkpoints of a job from now on, until it has ended or `most` further ones were seen. */
    async follow(id: string, seen: Set<string>, most = Number.POSITIVE_INFINITY): Promise<void> {
      const file = await fileOf(id);
      const enough = seen.size + most;
      // A step has several turns of the event loop: none is missed.
      for (;;) {
        const text = readFileSync(file, 'utf8');
        seen.add(text);
        const isEnded = /"state":"(DONE|FAILED)"/.test(text);
        // The process knows a moment later that its checkpoint was saved.
        if (isEnded) while ((await world.job(id)).state === 'RUNNING') await setImmediate();
        if (isEnded || seen.size >= enough) return;
        await setImmediate();
      }
    },
    /** Ends the gateway; the next one finds an earlier checkpoint, as after a kill after which nothing was saved. */
    async returnTo(id: string, checkpoint: string): Promise<void> {
      const file = await fileOf(id);
      await world.world.close();
      writeFileSync(file, checkpoint);
      await world.restart();
    },
  };
}

type World = Awaited<ReturnType<typeof checkpointWorld>>;

async function linesFor({ send }: World, prefix: string, count: number) {
  const { data } = await send<{ channels: { nodes: { id: string }[] } }>(
    '{ channels(first: 1) { nodes { id } } }',
  );
  // Each third channel does not exist.
  const missing = Buffer.from('Channel:999999').toString('base64url');
  return Array.from({ length: count }, (_, at) => ({
    name: `${prefix} ${at}`,
    id: at % 3 === 2 ? missing : data.channels.nodes[0]?.id,
  }));
}

/** The names of the pixels that the API was asked to create. */
const creationsOf = ({ sandbox }: World) =>
  sandbox.links.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => (body as { name: string }).name);

async function outputOf(world: World, id: string): Promise<string> {
  return (await world.output(id)).text();
}

it('continues at each checkpoint with the same output and no further change', async () => {
  const world = await checkpointWorld();
  const lines = await linesFor(world, 'pixel', 6);
  const id = await world.changes(CHANGES, lines);
  const seen = new Set<string>();
  await world.follow(id, seen);
  const output = await outputOf(world, id);
  expect(
    output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(
    lines.map(({ name }, at) => ({
      line: at + 1,
      data: {
        createPixel: { name },
        updateChannel: at % 3 === 2 ? { message: expect.any(String) } : { name },
      },
      ...(at % 3 === 2 && {
        error: expect.objectContaining({ code: 'UPSTREAM_REJECTED', path: ['updateChannel'] }),
      }),
    })),
  );
  const done = new Set([...seen].map((each) => world.recordOf(each).progress.rowsDone));
  expect(done).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
  const writes = () => world.sandbox.links.requests.filter(({ method }) => method !== 'GET').length;
  const sent = writes();
  for (const checkpoint of seen) {
    await world.returnTo(id, checkpoint);
    await world.follow(id, new Set());
    expect(await outputOf(world, id)).toBe(output);
  }
  expect(writes()).toBe(sent);
  expect(creationsOf(world)).toEqual(lines.map(({ name }) => name));
});

it('executes each line once, wherever gateways end and whatever they have not saved', async () => {
  const world = await checkpointWorld();
  let runs = 0;
  let cut = 0;
  const anyCut = fc.record({ steps: fc.integer({ min: 1, max: 4 }), back: fc.nat(9) });
  await fc.assert(
    fc.asyncProperty(fc.array(anyCut, { minLength: 1, maxLength: 4 }), async (cuts) => {
      runs += 1;
      const lines = await linesFor(world, `run ${runs} pixel`, 5);
      const id = await world.changes(CHANGES, lines);
      let seen = new Set<string>();
      for (const { back, steps } of cuts) {
        await world.follow(id, seen, steps);
        const saved = [...seen].slice(0, seen.size - (back % seen.size));
        await world.returnTo(id, saved.at(-1) as string);
        // A later checkpoint has output that was not saved.
        seen = new Set(saved);
        cut += 1;
      }
      await world.follow(id, seen);
      const names = creationsOf(world).filter((name) => name.startsWith(`run ${runs} `));
      expect(names).toEqual(lines.map(({ name }) => name));
      const output = (await outputOf(world, id)).trimEnd().split('\n');
      expect(output.map((line) => JSON.parse(line).line)).toEqual([1, 2, 3, 4, 5]);
      const { failures, rowsDone, state } = await world.job(id);
      expect({ failures, rowsDone, state }).toEqual({ failures: 1, rowsDone: 5, state: 'DONE' });
    }),
    { numRuns: rounds(6), interruptAfterTimeLimit: rounds(60_000) },
  );
  expect(cut).toBeGreaterThanOrEqual(runs);
});

it('continues a check at each checkpoint, and says how many lines there are when it knows', async () => {
  const world = await checkpointWorld();
  const lines = await linesFor(world, 'pixel', 450);
  // Blank lines count as lines of the file only.
  const text = lines
    .map((line, at) => (at % 9 === 0 ? '\n{"name": 1}' : JSON.stringify(line)))
    .join('\r\n');
  const id = await world.changes(CHANGES, text);
  const seen = new Set<string>();
  await world.follow(id, seen);
  const output = await outputOf(world, id);
  const numbers = lines.flatMap((_, at) => (at % 9 === 0 ? [at + Math.floor(at / 9) + 2] : []));
  expect(
    output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).line),
  ).toEqual(numbers);
  const checking = [...seen].filter((each) => world.recordOf(each).state !== 'FAILED');
  expect(checking.length).toBeGreaterThanOrEqual(4);
  const error = {
    code: 'BAD_USER_INPUT',
    message: '50 of 450 lines are invalid; the output says why. No change was sent.',
  };
  for (const checkpoint of checking) {
    const { progress } = world.recordOf(checkpoint);
    if (progress.rowsTotal === null) expect(progress.callsLeft).toBeNull();
    await world.returnTo(id, checkpoint);
    await world.follow(id, new Set());
    expect(await outputOf(world, id)).toBe(output);
    expect(await world.job(id)).toMatchObject({ rowsTotal: 450, failures: 50, lines: 50, error });
  }
  const totals = new Set([...seen].map((each) => world.recordOf(each).progress.rowsTotal));
  expect(totals).toEqual(new Set([null, 450]));
  expect(creationsOf(world)).toEqual([]);
});
