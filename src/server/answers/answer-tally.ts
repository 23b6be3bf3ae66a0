import type { Metrics } from '../../observe/metrics.ts';
import type { ServedKind } from '../../upstream/receipt.ts';
import type { RememberedAnswer } from './remembered-answers.ts';

/**
 * Counts remembered answers in plain numbers until somebody looks: to count each with its labels would cost
 * more than to answer.
 */
export class AnswerTally {
  readonly #metrics: Metrics;
  #operations = 0;
  readonly #reads = new Map<string, { -readonly [K in keyof ServedKind]: ServedKind[K] }>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** An answer was given. */
  count({ reads }: RememberedAnswer): void {
    this.#operations += 1;
    for (const read of reads) {
      const known = this.#reads.get(read.kind);
      if (known) known.count += read.count;
      else this.#reads.set(read.kind, { ...read });
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
    for (const { upstream, resource, count } of this.#reads.values()) {
      metrics.read?.(upstream, resource, 'hit', count);
    }
    metrics.remembered?.(this.#operations);
    this.#reads.clear();
    this.#operations = 0;
  }
}
