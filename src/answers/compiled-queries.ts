import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import { BoundedMap } from '../bounded-map.ts';
import type { GraphContext } from '../graph/context.ts';
import { CopiesAtHand } from '../upstream/at-hand-client.ts';
import type { Receipt } from '../upstream/receipt.ts';
import type { AnswerParts } from './answer-parts.ts';
import { CompiledOperation } from './compiled/compiled-operation.ts';
import { type CompiledPlans, createCompiledPlans } from './compiled/plans.ts';
import { operationName } from './request-names.ts';

/** Characters of the texts of operations that are held: parsed they take some hundred times the memory. */
const MAX_CHARACTERS = 128 * 1024;
/** So often in a row an attempt may come to nothing before most are left out, */
const MOST_MISSES = 8;
/** ... of which one in so many is made all the same. */
const TRY_EVERY = 16;

/** A query that was answered the whole way. */
interface AnsweredQuery {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly contentType: string;
  /** @throws GatewayError for variables that are out of proportion, or ask for too much. */
  readonly check: (variables: Readonly<Record<string, unknown>>) => void;
}

/** An answer that was made at once, of copies that were at hand. */
export interface CompiledAnswer {
  /** Its data as JSON. */
  readonly data: string;
  readonly receipt: Receipt;
  readonly contentType: string;
  /** The operation's name, shortened. */
  readonly name: string | null;
}

interface Known {
  readonly query: AnsweredQuery;
  readonly attempts: Attempts;
}

/** What is known of the attempts to answer one operation at once. */
interface Attempts {
  /** Made when it is first wanted; null for one that cannot be. */
  compiled: CompiledOperation | null | undefined;
  /** Attempts in a row that came to nothing. */
  misses: number;
}

/** A run of an operation on the whole path, after every check. */
interface ValidRun {
  readonly query: Pick<AnsweredQuery, 'schema' | 'document' | 'operation'>;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly viewer: Viewer;
  /** Notes what the answer was made of, where there is one. */
  readonly receipt: Receipt;
}

/**
 * The queries that were answered the whole way, so that the next time, with whatever variables, they can be
 * answered at once from what is at hand. What is not at hand as a whole, fails, or would take a call leaves
 * no trace here and goes the whole way.
 */
export class CompiledQueries {
  readonly #known = new BoundedMap<Known>({
    max: MAX_CHARACTERS,
    maxShare: 1 / 8,
    weigh: ({ length }) => length,
  });
  /** Shared by all keys of one parsed operation, and by both paths. */
  readonly #attempts = new WeakMap<OperationDefinitionNode, Attempts>();
  readonly #plans = createCompiledPlans();
  readonly #open: (viewer: Viewer, copies: CopiesAtHand) => GraphContext;
  readonly #parts: AnswerParts;

  /** `open` makes the context of an attempt. */
  constructor(open: (viewer: Viewer, copies: CopiesAtHand) => GraphContext, parts: AnswerParts) {
    this.#open = open;
    this.#parts = parts;
  }

  /** Notes a query under all that says which one it is, beside its variables. */
  note(key: string, query: () => AnsweredQuery): void {
    if (this.#known.peek(key)) return;
    const answered = query();
    this.#known.set(key, { query: answered, attempts: this.#attemptsOf(answered.operation) });
  }

  /** Whether it is worth to try and answer one here. */
  knows(key: string): boolean {
    const known = this.#known.peek(key);
    return known !== undefined && known.attempts.compiled !== null;
  }

  /** Answers one at once; `null` where that cannot be. 0 upstream calls. */
  answer(
    key: string,
    variables: Readonly<Record<string, unknown>>,
    viewer: Viewer,
  ): CompiledAnswer | null {
    const known = this.#known.get(key);
    if (!known) return null;
    const { attempts, query } = known;
    return this.#attempt(attempts, query, (compiled) => {
      const copies = new CopiesAtHand();
      const context = this.#open(viewer, copies);
      query.check(variables);
      const data = compiled.run(context, variables, this.#parts.of(viewer, copies));
      copies.settle(context.receipt);
      const { contentType, operation } = query;
      return { data, receipt: context.receipt, contentType, name: operationName(operation) };
    });
  }

  /**
   * Executes a query of the whole path at once, if it was executed before and all it needs is cached: its data as
   * JSON, or `null`. 0 upstream calls.
   */
  execute({ query, receipt, variables, viewer }: ValidRun): string | null {
    const attempts = this.#attempts.get(query.operation);
    if (!attempts) {
      // Most texts that are sent once are never sent again.
      this.#attemptsOf(query.operation);
      return null;
    }
    return this.#attempt(attempts, query, (compiled) => {
      const copies = new CopiesAtHand();
      const context = this.#open(viewer, copies);
      const data = compiled.run(context, variables, this.#parts.of(viewer, copies));
      copies.settle(receipt);
      if (context.receipt.passing) receipt.changesWithTime();
      return data;
    });
  }

  #attemptsOf(operation: OperationDefinitionNode): Attempts {
    let attempts = this.#attempts.get(operation);
    if (!attempts) {
      attempts = { compiled: undefined, misses: 0 };
      this.#attempts.set(operation, attempts);
    }
    return attempts;
  }

  /** One attempt, unless the last ones came to nothing. Whatever goes wrong happens again on the whole path. */
  #attempt<T>(
    attempts: Attempts,
    query: ValidRun['query'],
    run: (compiled: CompiledOperation) => T,
  ): T | null {
    if (attempts.compiled === null) return null;
    if (attempts.misses >= MOST_MISSES && attempts.misses % TRY_EVERY !== 0) {
      attempts.misses += 1;
      return null;
    }
    const compiled = attempts.compiled ?? compile(query, this.#plans);
    attempts.compiled = compiled;
    if (!compiled) return null;
    try {
      const answer = run(compiled);
      attempts.misses = 0;
      return answer;
    } catch {
      attempts.misses += 1;
      return null;
    }
  }
}

function compile(query: ValidRun['query'], plans: CompiledPlans): CompiledOperation | null {
  try {
    return new CompiledOperation(query, plans);
  } catch {
    // It is answered the whole way, as ever.
    return null;
  }
}
