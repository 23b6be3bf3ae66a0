import type { ConsoleState } from '../../src/console/console-state.ts';
import { askGateway, Refusal } from './ask-gateway.ts';

/** Who gets what the gateway sends. */
interface FeedListener {
  state(state: ConsoleState): void;
  /** A sentence while nothing comes; `null` when all is well again. */
  trouble(sentence: string | null): void;
}

const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;
/** After this time without a response, a request is given up. */
const DEAD_MS = 5000;

/** Asks for the gateway's state each second, while the page is visible, and less often while it fails. */
export class Feed {
  readonly #listener: FeedListener;
  #token = '';
  #heardAt = performance.now();
  #failures = 0;
  #hurry: () => void = () => {};

  constructor(listener: FeedListener) {
    this.#listener = listener;
  }

  /** Begins, and never ends. */
  start(): void {
    document.addEventListener('visibilitychange', () => this.#hurry());
    void this.#run();
  }

  /** Asks from now on with this token; an empty one is none. */
  useToken(token: string): void {
    this.#token = token;
    this.#hurry();
  }

  async #run(): Promise<void> {
    for (;;) {
      if (document.visibilityState === 'visible') await this.#ask();
      const pause = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** this.#failures);
      await new Promise<void>((resolve) => {
        this.#hurry = resolve;
        setTimeout(resolve, pause);
      });
    }
  }

  async #ask(): Promise<void> {
    try {
      const signal = AbortSignal.timeout(DEAD_MS);
      const response = await askGateway('./console.json', 'application/json', this.#token, signal);
      const state = (await response.json()) as ConsoleState;
      this.#heardAt = performance.now();
      this.#failures = 0;
      this.#listener.trouble(null);
      this.#listener.state(state);
    } catch (error) {
      this.#failures += 1;
      const seconds = Math.floor((performance.now() - this.#heardAt) / 1000);
      const what = seconds < 2 ? 'The connection was lost.' : `No data for ${seconds} s.`;
      this.#listener.trouble(`${error instanceof Refusal ? error.message : what} Reconnecting.`);
    }
  }
}
