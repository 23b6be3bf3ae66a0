import type { Metrics } from '../../observe/metrics.ts';
import type { ServedKind } from '../../upstream/receipt.ts';
import type { RememberedAnswer } from './remembered-answers.ts';

/**
 * Counts what is answered in front of everything else in plain numbers until somebody looks: to count each with
 * its labels would cost more than to answer.
 */
export class AnswerTally {
  readonly #metrics: Metrics;
  #remembered = 0;
  #executed = 0;
  readonly #reads = new Map<string, { -readonly [K in keyof ServedKind]: ServedKind[K] }>();
  /** The answer that was given last, and how often in a row its reads are not counted yet. */
  #last: RememberedAnswer | null = null;
  #times = 0;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** An operation was executed over what was at hand. Its reads are counted by those who served them. */
  countExecuted(): void {
    this.#executed += 1;
  }

  /** An answer was given again. */
  count(answer: RememberedAnswer): void {
    this.#remembered += 1;
    if (answer !== this.#last) {
      this.#countReads();
      this.#last = answer;
    }
    this.#times += 1;
  }

  #countReads(): void {
    const times = this.#times;
    this.#times = 0;
    for (const read of this.#last?.reads ?? []) {
      const count = read.count * times;
      const known = this.#reads.get(read.kind);
      if (known) known.count += count;
      else this.#reads.set(read.kind, { ...read, count });
    }
  }

  /** The metrics, which learn what was counted here before they are shown. */
  get metrics(): Metrics {
    const metrics = this.#metrics;
    return {
      ...metrics,
      render: async () => {
        this.#tell();
        return metrics.render();
      },
    };
  }

  #tell(): void {
    const metrics = this.#metrics;
    this.#countReads();
    this.#last = null;
    for (const { upstream, resource, count } of this.#reads.values()) {
      metrics.read?.(upstream, resource, 'hit', count);
    }
    metrics.answeredInFront?.(this.#remembered, this.#executed);
    this.#reads.clear();
    this.#remembered = 0;
    this.#executed = 0;
  }
}
