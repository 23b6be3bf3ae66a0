/** A wait before a request is sent again. */
export interface RetryWait {
  /** Its duration in milliseconds. */
  readonly ms: number;
  /** How often the request was sent so far. */
  readonly tries: number;
}

/** How often a request may be repeated, and when to stop. */
export interface RepeatLimits {
  readonly tries: number;
  /** Maximum total delay in milliseconds. A longer delay than remains is not started. */
  readonly maxWaitMs: number;
  readonly onWait?: ((wait: RetryWait) => void) | undefined;
  /** Ends a wait, with its reason. */
  readonly signal?: AbortSignal | null | undefined;
}

/** First delay if none is given, in milliseconds; the next is twice as long. */
const BACK_OFF_MS = 1000;

/** The delay after a number of tries, if none is given, in milliseconds. */
export const backOffMs = (tries: number): number => BACK_OFF_MS * 2 ** (tries - 1);

/**
 * Sends until `waitMs` of an answer is `null` or a limit is reached, and returns the last answer. Delays are up to a
 * fifth longer than `waitMs`, so that clients do not retry all at once.
 */
export async function repeat<T>(
  send: () => Promise<T>,
  waitMs: (answer: Promise<T>, tries: number) => Promise<number | null>,
  { maxWaitMs, onWait, signal, tries: most }: RepeatLimits,
): Promise<T> {
  let leftMs = maxWaitMs;
  for (let tries = 1; ; tries += 1) {
    const answer = send();
    if (tries >= most) return answer;
    let ms = await waitMs(answer, tries);
    signal?.throwIfAborted();
    if (ms === null || ms > leftMs) return answer;
    ms = Math.min(leftMs, ms * (1 + Math.random() / 5));
    leftMs -= ms;
    onWait?.({ ms, tries });
    await pause(ms, signal);
  }
}

function pause(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop);
  });
}
