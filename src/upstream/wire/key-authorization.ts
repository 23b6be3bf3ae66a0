import type { Credential } from '../../auth/credential.ts';
import { type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Call } from '../request.ts';
import type { Exchanged } from './exchange.ts';

/** Receives the information of an upstream about keys. */
export interface Keys {
  /** The upstream has accepted a key. */
  accepted(credential: Credential): void;
  /** The response does not show that the key is accepted. */
  notAccepted(credential: Credential): void;
}

/** Removes all data read with a rejected key of a caller. */
export type ForgetKey = (credential: Credential) => void;

/** What the operator does if an upstream rejects the gateway's own key. */
export function rejectedKey(upstream: UpstreamName): string {
  return `${upstreamTitle[upstream]} rejects ${upstream}_API_KEY. Check that the key is complete, belongs to this installation and has not expired.`;
}

interface KeyOptions {
  readonly clock: Clock;
  /** Called when one of the gateway's own keys is rejected for the first time since it was accepted. */
  readonly onRefused: () => void;
}

/** Requests of one key between two rejections. */
interface Era {
  inFlight: number;
  over: boolean;
}

/**
 * Records for each key whether the upstream has accepted it. Entries read with a caller's own key are removed as soon as
 * the key is rejected. Entries read with the gateway's own key are kept, and served while they are fresh; older ones
 * are withheld until the upstream accepts the key again, so that an expired key does not look valid.
 *
 * Only `unauthenticated` is about the key. A key without permission for a single request is valid.
 */
export class KeyAuthorization {
  readonly #keys: Keys;
  readonly #forget: ForgetKey;
  readonly #options: KeyOptions;
  /** Since when the last result of one of the gateway's own keys is a rejection, by partition, on `clock.now()`. */
  readonly #refused = new Map<string, number>();
  /** The requests sent since the last rejection of a key, by partition, if any is in flight. */
  readonly #eras = new Map<string, Era>();

  constructor(keys: Keys, forget: ForgetKey, options: KeyOptions) {
    this.#keys = keys;
    this.#forget = forget;
    this.#options = options;
  }

  /** Since when one of the gateway's own keys is rejected, on `clock.now()`; undefined if its last result was another. */
  refusedAt({ partition }: Credential): number | undefined {
    return this.#refused.get(partition);
  }

  /** Waits for the result of a request that is sent now, and records whether its key was accepted. */
  async learn<T>(
    call: Call<T>,
    credential: Credential,
    sent: Promise<Exchanged<T>>,
  ): Promise<Exchanged<T>> {
    const { partition } = credential;
    const era = this.#eras.get(partition) ?? { inFlight: 0, over: false };
    era.inFlight += 1;
    this.#eras.set(partition, era);
    let exchanged: Exchanged<T>;
    try {
      exchanged = await sent;
    } finally {
      era.inFlight -= 1;
      if (era.inFlight === 0 && this.#eras.get(partition) === era) this.#eras.delete(partition);
    }
    const { outcome } = exchanged;
    if (outcome.kind === 'late') return exchanged;
    if (outcome.kind === 'value' && outcome.value !== null) {
      // A request sent before a rejection reveals nothing about the time after it.
      if (!era.over) this.#refused.delete(partition);
      if (!era.over) this.#keys.accepted(credential);
    } else if (outcome.kind === 'failure' && outcome.failure.kind === 'unauthenticated') {
      this.#refuse(call, credential);
    } else {
      this.#keys.notAccepted(credential);
    }
    return exchanged;
  }

  #refuse(call: Call<unknown>, credential: Credential): void {
    const { ofCaller, partition } = credential;
    // A refusal can repeat values that a caller has written.
    if (!ofCaller && !('resource' in call)) return;
    const era = this.#eras.get(partition);
    if (era) era.over = true;
    this.#eras.delete(partition);
    if (ofCaller) this.#forget(credential);
    else if (!this.#refused.has(partition)) {
      this.#refused.set(partition, this.#options.clock.now());
      this.#options.onRefused();
    }
  }
}
