import type { Credential } from '../../auth/credential.ts';
import type { KeyStanding } from '../key-standing.ts';
import type { Access } from '../operation.ts';
import type { Call } from '../request.ts';
import type { Exchanged } from '../wire/exchange.ts';
import type { GuardedExchange } from '../wire/guarded-exchange.ts';
import { resourceOf } from '../wire/observed-exchange.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import type { Attempt } from './attempt.ts';
import type { RequestOptions } from './read-requests.ts';
import { SharedRequest } from './shared-request.ts';

/** What came of a request that left. */
export type Answered<T> = Exclude<Exchanged<T>['outcome'], { kind: 'refused' } | { kind: 'late' }>;

/** What the readers of a request are told. */
export type Told<T> = ({ readonly value: T } | { readonly error: unknown }) & {
  /** Resolves when no reader is shown the state before it any more, where that is not at once. */
  readonly settled?: Promise<void>;
};

interface UnsharedOptions {
  readonly exchange: GuardedExchange;
  readonly standing: KeyStanding;
  /** Makes the credential's budget if there is none. */
  readonly requestOptions: (credential: Credential) => RequestOptions;
  /** Requests that one operation may make with a credential at most. */
  readonly maxCalls: (credential: Credential) => number;
}

/** The requests whose answers are for one operation alone: writes, and reads of secrets. */
export class UnsharedRequests {
  readonly #options: UnsharedOptions;
  /** Counts them, so that each has a line of its own on a receipt. */
  #count = 0;

  constructor(options: UnsharedOptions) {
    this.#options = options;
  }

  /**
   * Sends one. 1 upstream call. `tags` are all that it can make wrong, scoped, if it is a write.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` while the breaker is open, `OPERATION_TOO_EXPENSIVE`.
   */
  send<T>(
    call: Call<T>,
    lane: 'write' | 'interactive',
    { caller, credential }: Access,
    settle: (outcome: Answered<T>, permit: string | undefined) => Told<T>,
    tags: () => readonly string[] = () => [],
  ): Promise<T> {
    const { exchange, maxCalls, standing } = this.#options;
    return caller.receipt.track(async () => {
      const options = this.#options.requestOptions(credential);
      if (exchange.heldBack) throw exchange.heldBack;
      caller.receipt.spending.take(options.upstream, maxCalls(credential));
      this.#count += 1;
      const key = `unshared ${this.#count}`;
      const request = new SharedRequest<T>({
        ...options,
        lane,
        lengthy: call.stream !== undefined,
        caller: caller.name,
        resource: resourceOf(call),
        planned: caller.receipt,
        sharing: { tags: tags() },
        attempt: async (payer, departing, slot) => {
          const heldBack = exchange.heldBackFor(call);
          if (heldBack) return { kind: 'unsent', error: heldBack };
          payer?.sent(options.upstream, key);
          const { feedback, outcome } = await standing.send(call, credential, departing, slot);
          if (outcome.kind === 'late') {
            payer?.notSent(options.upstream, key);
            return { kind: 'late' };
          }
          return outcome.kind === 'refused'
            ? { kind: 'refused', feedback }
            : answered(feedback, settle(outcome, slot.id));
        },
      });
      request.enqueue();
      return request.wait(caller);
    });
  }
}

function answered<T>(feedback: Feedback, told: Told<T>): Attempt<T> {
  const { settled } = told;
  if ('value' in told) return { kind: 'value', feedback, value: told.value, settled };
  const result = settled ? undefined : ({ kind: 'nothing' } as const);
  return { kind: 'error', feedback, error: told.error, settled, result };
}
