/** An answer that an operation has waited for. */
interface OwnAnswer {
  readonly value: unknown;
  /** Scoped, as the cache knows them. */
  readonly tags: readonly string[];
  /** The latest write that it shows. */
  readonly generation: number;
}

/**
 * The answers that one operation has waited for, by cache key. They serve the rest of the operation whatever their
 * ttl, and whether the cache has taken them or not, so that it reads nothing twice; a write ends that. There are
 * no more of them than an operation may make calls, or joins in flight.
 */
export class OwnAnswers {
  readonly #answers = new Map<string, OwnAnswer>();

  /** An answer has come that was asked for as of a write. */
  note(key: string, answer: OwnAnswer): void {
    this.#answers.set(key, answer);
  }

  /** The answer of a key, if no write has touched it since by what `holds` says. */
  find(
    key: string,
    holds: (tags: readonly string[], generation: number) => boolean,
  ): OwnAnswer | undefined {
    const answer = this.#answers.get(key);
    return answer && holds(answer.tags, answer.generation) ? answer : undefined;
  }
}
