import type { ConsoleState } from '../../src/console/console-state.ts';
import { askGateway, Refusal } from './ask-gateway.ts';

/** Who gets what the gateway sends. */
interface FeedListener {
  state(state: ConsoleState): void;
  /** A sentence while nothing comes; `null` when all is well again. */
  trouble(sentence: string | null): void;
}

/** After so long without a word something is said, and after more a new connection is tried. */
const SILENT_MS = 3000;
const DEAD_MS = 8000;
const POLL_MS = 2000;
/** The number that is asked for one by one, where streams do not get through, before a stream is tried again. */
const POLLS = 30;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Follows the gateway's state, as long as somebody looks at the page: over one stream, by asking again and again where
 * streams do not get through, and again, after a pause that grows, where the connection is lost.
 */
export class Feed {
  readonly #listener: FeedListener;
  #token = '';
  #heardAt = performance.now();
  #triedAt = this.#heardAt;
  #heard = 0;
  #refusal: string | null = null;
  #lost = false;
  #cut = new AbortController();
  #hurry: () => void = () => {};

  constructor(listener: FeedListener) {
    this.#listener = listener;
  }

  /** Begins, and never ends. */
  start(): void {
    document.addEventListener('visibilitychange', () => this.#again());
    setInterval(() => this.#watch(), 1000);
    void this.#run();
  }

  /** Asks from now on with this token; an empty one is none. */
  useToken(token: string): void {
    this.#token = token;
    this.#again();
  }

  #again(): void {
    this.#heardAt = performance.now();
    this.#cut.abort();
    this.#hurry();
  }

  async #run(): Promise<void> {
    let failures = 0;
    /** Streams that ended without a word. */
    let mute = 0;
    for (;;) {
      await this.#visible();
      this.#cut = new AbortController();
      this.#triedAt = performance.now();
      const before = this.#heard;
      const polls = mute > 1;
      try {
        if (polls) await this.#poll(this.#cut.signal);
        else await this.#stream(this.#cut.signal);
      } catch (error) {
        this.#refusal = error instanceof Refusal ? error.message : null;
      }
      const heard = this.#heard > before;
      failures = heard ? 0 : failures + 1;
      mute = heard || polls ? 0 : mute + 1;
      if (this.#cut.signal.aborted && heard) continue;
      this.#lost = document.visibilityState === 'visible';
      this.#watch();
      const pause = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** failures);
      await this.#pause(pause * (0.75 + Math.random() / 2));
    }
  }

  async #stream(signal: AbortSignal): Promise<void> {
    const { body } = await askGateway('./console/events', 'text/event-stream', this.#token, {
      signal,
    });
    if (!body) return;
    let rest = '';
    for await (const piece of pieces(body.pipeThrough(new TextDecoderStream()))) {
      const events = (rest + piece).split(/\r?\n\r?\n/);
      rest = events.pop() ?? '';
      this.#heardAt = performance.now();
      const state = events.map(dataOf).findLast((data) => data !== '');
      // Of several at once only the last still holds.
      if (state) this.#notify(JSON.parse(state) as ConsoleState);
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    for (let polls = 0; polls < POLLS; polls += 1) {
      const response = await askGateway('./console.json', 'application/json', this.#token, {
        signal,
      });
      this.#notify((await response.json()) as ConsoleState);
      await this.#pause(POLL_MS);
      if (signal.aborted) return;
    }
  }

  #notify(state: ConsoleState): void {
    this.#heard += 1;
    this.#heardAt = performance.now();
    this.#refusal = null;
    this.#lost = false;
    this.#listener.trouble(null);
    this.#listener.state(state);
  }

  /** Says how long nothing has come, and gives up a connection that is dead. */
  #watch(): void {
    if (document.visibilityState === 'hidden') return;
    const now = performance.now();
    if (now - Math.max(this.#heardAt, this.#triedAt) > DEAD_MS) this.#cut.abort();
    const silence = now - this.#heardAt;
    if (!this.#lost && silence < SILENT_MS) return;
    const seconds = Math.floor(silence / 1000);
    const what = seconds < 1 ? 'The connection was lost' : `No data for ${seconds} s`;
    this.#listener.trouble(`${this.#refusal ?? `${what}.`} Reconnecting.`);
  }

  #visible(): Promise<void> {
    if (document.visibilityState === 'visible') return Promise.resolve();
    return new Promise<void>((resolve) => (this.#hurry = resolve)).then(() => this.#visible());
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

async function* pieces(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Else the connection would stay open.
    await reader.cancel().catch(() => {});
  }
}

function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n');
}
