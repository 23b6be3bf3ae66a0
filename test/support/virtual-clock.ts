import { vi } from 'vitest';
import type { Clock } from '../../src/scheduling/clock.ts';

interface Timer {
  readonly due: number;
  readonly task: () => void;
}

// Taken before any test can rule over them.
const realSetTimeout = globalThis.setTimeout;
const realSetImmediate = globalThis.setImmediate;
const realClearTimeout = globalThis.clearTimeout;

/**
 * Time that stands still until a test moves it. Nothing here waits on the machine's clock: between two
 * due tasks the event loop turns, so that promises, sockets and real zero timers come to rest.
 */
export class VirtualClock implements Clock {
  #now = 0;
  #wallOffset = Date.UTC(2030, 0, 1);
  #timers: Timer[] = [];
  #ruling = false;

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now + this.#wallOffset;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { due: this.#now + Math.max(0, ms), task };
    // Behind all that are due at the same moment, as with real timers.
    let at = this.#timers.length;
    while (at > 0 && (this.#timers[at - 1] as Timer).due > timer.due) at -= 1;
    this.#timers.splice(at, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  /** Sets the wall clock forward or back; durations do not notice. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Moves time on, running in order what falls due, and lets everything come to rest. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (let next = this.#timers[0]; next && next.due <= end; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.due);
      next.task();
      await this.settle();
    }
    this.#now = end;
  }

  /** Moves time on to the next due task, runs it, and answers false when there is none. */
  async step(): Promise<boolean> {
    const next = this.#timers[0];
    if (!next) return false;
    await this.advance(Math.max(0, next.due - this.#now));
    return true;
  }

  /** Lets promises, and without `rule` also sockets and real zero timers, come to rest. */
  async settle(): Promise<void> {
    if (this.#ruling) {
      for (let turn = 0; turn < 40; turn += 1) await Promise.resolve();
      return;
    }
    for (let turn = 0; turn < 6; turn += 1) {
      await new Promise<void>((resolve) => {
        realSetTimeout(() => realSetImmediate(resolve), 0);
      });
    }
  }

  /**
   * Makes the global timers and `Date.now` follow this clock as well, for libraries that use them, so
   * that an hour passes in microseconds. Not for tests with sockets. Undone after the test.
   */
  rule(): this {
    this.#ruling = true;
    vi.stubGlobal('setTimeout', (task: () => void, ms = 0) =>
      Object.assign(this.after(ms, task), { unref: () => {}, refresh: () => {} }),
    );
    // Of sockets that others have closed, timers of before end later.
    vi.stubGlobal('clearTimeout', (timer: (() => void) | NodeJS.Timeout | undefined) =>
      typeof timer === 'function' ? timer() : realClearTimeout(timer),
    );
    vi.spyOn(Date, 'now').mockImplementation(() => this.wall());
    return this;
  }
}

/** Rests by events of the machine and not by its time, so that hours pass in seconds. Not for tests with sockets. */
export class QuickClock extends VirtualClock {
  override async settle(): Promise<void> {
    for (let turn = 0; turn < 8; turn += 1) {
      await new Promise<void>((resolve) => {
        realSetImmediate(resolve);
      });
    }
  }
}
