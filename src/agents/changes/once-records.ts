import type { Records } from '../../upstream/idempotency/records.ts';

/** Attempts while other requests use a record for some milliseconds. */
const MOST_ATTEMPTS = 20;

/** What a name was used for: nothing before, the same before, or something else. */
type Use = 'FIRST' | 'AGAIN' | 'OTHER';

/**
 * Names that are used for one purpose only, in the records of idempotency keys: on all replicas, after a restart, and
 * after a crash between any two steps.
 */
export class OnceRecords {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Uses a name of a caller for a purpose, unless it was used for another. */
  async use(scope: string, name: string, purpose: string): Promise<Use> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const claim = await this.#claim(scope, name, purpose);
      if (claim.kind === 'owned') {
        claim.record.ended({ kind: 'done', value: null });
        return 'FIRST';
      }
      if (claim.kind === 'final') return 'AGAIN';
      if (claim.kind !== 'busy') return 'OTHER';
      await claim.ended;
    }
    return 'OTHER';
  }

  /** For how long a name has been used for a purpose, in milliseconds; `null` if it was not. */
  async usedForMs(scope: string, name: string, purpose: string): Promise<number | null> {
    const claim = await this.#claim(scope, name, purpose);
    if (claim.kind === 'owned') claim.record.release();
    return claim.kind === 'final' ? this.#records.now - claim.firstAt : null;
  }

  async #claim(scope: string, name: string, purpose: string) {
    const { digest } = this.#records;
    return this.#records.claim({
      name: digest(`agents ${scope} ${name}`),
      scope: digest(`agents ${scope}`),
      upstream: 'LINKS',
      mutation: 'agents',
      fingerprint: { secret: '', digest: digest(purpose) },
      madeAt: null,
      report: () => {},
    });
  }
}
