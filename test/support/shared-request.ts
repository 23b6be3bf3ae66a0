import { inBackground } from '../../src/scheduling/at-once.ts';
import type { Outcome } from '../../src/upstream/reads/waiter.ts';
import { Waiters } from '../../src/upstream/reads/waiters.ts';
import type { Feedback } from '../../src/upstream/wire/rate-limit-headers.ts';

/** What one try to send a request brings: without an outcome it goes again. */
export interface Brought<T> {
  readonly feedback: Feedback;
  readonly outcome?: Outcome<T>;
}

/** A request that is sent in each of its turns until that brings an outcome. */
export function sharedRequest<T>(
  options: ConstructorParameters<typeof Waiters<T>>[0],
  key: string,
  send: () => Promise<Brought<T>>,
): Waiters<T> {
  const waiters = new Waiters<T>(options);
  const takeTurns = async (): Promise<void> => {
    for (let turn = await waiters.turn(); turn?.kind === 'slot'; turn = await waiters.turn()) {
      waiters.leaves(key, false);
      const { feedback, outcome } = await send();
      waiters.answered();
      turn.end(feedback);
      if (!outcome) continue;
      waiters.end(outcome);
      return;
    }
  };
  inBackground(takeTurns());
  return waiters;
}
