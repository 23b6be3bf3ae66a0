import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What is asked again and again, from how far one answer to the next question. */
export interface Asking {
  readonly url: string;
  readonly pauseMs: number;
  /** A POST has one. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The JSON of what `data` of a right answer is; without it, any answer is right. */
  readonly expected?: string;
}

/** How an address has answered since it was watched. */
export interface Watched {
  readonly answers: number;
  readonly wrong: number;
  /** The longest wait for an answer in milliseconds, one that has not come included. */
  readonly worst: number;
}

/** Asks several addresses by itself, in a thread of its own. */
export class Watcher<Name extends string> {
  readonly #worker: Worker;

  constructor(askings: Readonly<Record<Name, Asking>>) {
    this.#worker = new Worker(new URL('watcher.js', import.meta.url), { workerData: askings });
  }

  /** Forgets what was seen so far. */
  begin(): void {
    this.#worker.postMessage('begin', []);
  }

  /** What was seen since it began. */
  async seen(): Promise<Readonly<Record<Name, Watched>>> {
    const answer = once(this.#worker, 'message');
    this.#worker.postMessage('tell', []);
    return (await answer)[0];
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
