import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type StandardOutput, standardOutput } from '../../src/observe/log/standard-output.ts';
import { tempFolder } from '../support/folder.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A pipe as a supervisor gives it: its reader is the test. */
class Pipe {
  readonly clock = new VirtualClock();
  readonly output: StandardOutput;
  readonly #folder = tempFolder();
  readonly #reading: number;
  readonly #writing: number;
  readonly #listeners = process.listeners('exit');
  #isRead = true;

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    this.#reading = openSync(path, O_RDONLY | O_NONBLOCK);
    this.#writing = openSync(path, O_WRONLY | O_NONBLOCK);
    this.output = standardOutput(this.clock, this.#writing);
  }

  /** What has come out since the last time. */
  read(most = Number.POSITIVE_INFINITY): string {
    const pieces: Buffer[] = [];
    for (let left = most; left > 0; ) {
      const piece = Buffer.alloc(Math.min(left, 65_536));
      let length = 0;
      try {
        length = readSync(this.#reading, piece);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      }
      if (length === 0) break;
      pieces.push(piece.subarray(0, length));
      left -= length;
    }
    return Buffer.concat(pieces).toString('latin1');
  }

  /** All that comes out while time goes on. */
  async readAll(): Promise<string> {
    let all = '';
    for (let piece = this.read(); piece !== ''; piece = this.read()) {
      all += piece;
      await this.clock.advance(5);
    }
    return all;
  }

  /** Closes the reading end. */
  hangUp(): void {
    closeSync(this.#reading);
    this.#isRead = false;
  }

  close(): void {
    for (const listener of process.listeners('exit')) {
      if (!this.#listeners.includes(listener)) process.off('exit', listener);
    }
    if (this.#isRead) closeSync(this.#reading);
    closeSync(this.#writing);
  }
}

let pipe: Pipe;
beforeEach(() => {
  pipe = new Pipe();
});
afterEach(() => pipe.close());

/** Lines of a kilobyte, which say which they are. */
const lineOf = (count: number): string => `${`${count} `.padEnd(1023, '.')}\n`;
const countOf = (line: string): number => Number(line.split(' ', 1)[0]);

describe('a line', () => {
  it('waits 5 ms for others, and is written with them', async () => {
    pipe.output.write('one\n');
    await pipe.clock.advance(4);
    pipe.output.write('two\n');
    expect(pipe.read()).toBe('');
    await pipe.clock.advance(1);
    expect(pipe.read()).toBe('one\ntwo\n');
    await pipe.clock.advance(1000);
    expect(pipe.read()).toBe('');
  });

  it('does not wait once 64 KiB do', () => {
    for (let count = 0; count < 63; count += 1) pipe.output.write(lineOf(count));
    expect(pipe.read()).toBe('');
    pipe.output.write(lineOf(63));
    expect(pipe.read()).toHaveLength(64 * 1024);
  });

  it('that is urgent is written at once, behind those that wait', async () => {
    pipe.output.write('one\n');
    pipe.output.writeNow('two\n');
    expect(pipe.read()).toBe('one\ntwo\n');
    pipe.output.write('three\n');
    await pipe.clock.advance(5);
    expect(pipe.read()).toBe('three\n');
  });

  it('that still waits when the process ends is written then', () => {
    pipe.output.write('last\n');
    process.listeners('exit').at(-1)?.(0);
    expect(pipe.read()).toBe('last\n');
  });
});

describe('a pipe that is not read', () => {
  it('costs a megabyte, and later reports how many lines are missing', async () => {
    const COUNT = 4000;
    for (let count = 0; count < COUNT; count += 1) {
      pipe.output.write(lineOf(count));
      if (count % 100 === 0) await pipe.clock.advance(5);
    }
    const all = (await pipe.readAll()).split('\n').slice(0, -1);
    const missing = JSON.parse(all.pop() ?? '') as { level: string; msg: string };
    expect(missing).toMatchObject({ level: 'warn' });
    expect(all.map(countOf)).toEqual(all.map((_, count) => count));
    // What the pipe itself holds, and a megabyte.
    expect(all.length).toBeGreaterThanOrEqual(1024);
    expect(all.length).toBeLessThanOrEqual(1024 + 64 + 1);
    expect(missing.msg).toMatch(new RegExp(`^${COUNT - all.length} lines are missing`));
    pipe.output.writeNow('new\n');
    expect(pipe.read()).toBe('new\n');
  });

  it('takes urgent lines when it takes no others', async () => {
    for (let count = 0; count < 2000; count += 1) pipe.output.write(lineOf(count));
    pipe.output.writeNow('urgent\n');
    pipe.output.write('not urgent\n');
    const all = await pipe.readAll();
    expect(all).toContain('\nurgent\n');
    expect(all).not.toContain('not urgent');
    for (let count = 0; count < 2000; count += 1) pipe.output.writeNow(lineOf(count));
    const urgent = await pipe.readAll();
    expect(urgent.length).toBeLessThan((1024 + 64 + 64 + 1) * 1024);
  });

  it('holds up a stop only until it is read', async () => {
    for (let count = 0; count < 200; count += 1) pipe.output.write(lineOf(count));
    let isDrained = false;
    pipe.output.onceDrained(() => (isDrained = true));
    await pipe.clock.advance(1000);
    expect(isDrained).toBe(false);
    await pipe.readAll();
    expect(isDrained).toBe(true);
  });

  it('whose reader has gone costs nothing', () => {
    pipe.hangUp();
    for (let count = 0; count < 2000; count += 1) pipe.output.writeNow(lineOf(count));
    pipe.output.write('one\n');
    let isDrained = false;
    pipe.output.onceDrained(() => (isDrained = true));
    expect(isDrained).toBe(true);
  });
});

describe('lines of any text, for any reader', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({
        do: fc.constantFrom('write' as const, 'writeNow' as const),
        text: fc.oneof(
          { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 50 }) },
          { weight: 1, arbitrary: fc.nat({ max: 300_000 }).map((length) => 'ü'.repeat(length)) },
        ),
      }),
      fc.record({ do: fc.constant('read' as const), most: fc.nat({ max: 200_000 }) }),
      fc.record({ do: fc.constant('pass' as const), ms: fc.nat({ max: 6 }) }),
    ),
    { maxLength: 40 },
  );

  it('come whole, once, in order, or are counted as missing', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const own = new Pipe();
        try {
          const given: string[] = [];
          let read = '';
          for (const step of all) {
            if (step.do === 'read') read += own.read(step.most);
            else if (step.do === 'pass') await own.clock.advance(step.ms);
            else {
              const line = JSON.stringify([given.length, step.text]);
              given.push(line);
              own.output[step.do](`${line}\n`);
            }
          }
          await own.clock.advance(5);
          read += await own.readAll();
          const lines = Buffer.from(read, 'latin1').toString().split('\n');
          expect(lines.pop()).toBe('');
          const notices = lines.filter((line) => line.startsWith('{'));
          const missing = notices.map((line) => Number.parseInt(JSON.parse(line).msg, 10));
          const came = lines.filter((line) => !line.startsWith('{'));
          let next = 0;
          for (const line of came) {
            next = given.indexOf(line, next) + 1;
            expect(next).toBeGreaterThan(0);
          }
          expect(came.length + missing.reduce((sum, count) => sum + count, 0)).toBe(given.length);
        } finally {
          own.close();
        }
      }),
      { numRuns: 20 },
    );
  });
});
