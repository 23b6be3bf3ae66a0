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
  /** Made when it is first wanted; null for one that cannot be. */
  compiled: CompiledOperation | null | undefined;
  /** Attempts in a row that came to nothing. */
  misses: number;
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
    if (!this.#known.peek(key)) {
      this.#known.set(key, { query: query(), compiled: undefined, misses: 0 });
    }
  }

  /** Whether it is worth to try and answer one here. */
  knows(key: string): boolean {
    const known = this.#known.peek(key);
    return known !== undefined && known.compiled !== null;
  }

  /** Answers one at once; `null` where that cannot be. 0 upstream calls. */
  answer(
    key: string,
    variables: Readonly<Record<string, unknown>>,
    viewer: Viewer,
  ): CompiledAnswer | null {
    const known = this.#known.get(key);
    if (!known || known.compiled === null) return null;
    if (known.misses >= MOST_MISSES && known.misses % TRY_EVERY !== 0) {
      known.misses += 1;
      return null;
    }
    const { query } = known;
    const compiled = known.compiled ?? compile(query, this.#plans);
    known.compiled = compiled;
    if (!compiled) return null;
    const copies = new CopiesAtHand();
    const context = this.#open(viewer, copies);
    try {
      query.check(variables);
      const data = compiled.run(context, variables, this.#parts.of(viewer, copies));
      copies.settle(context.receipt);
      known.misses = 0;
      const { contentType, operation } = query;
      return { data, receipt: context.receipt, contentType, name: operationName(operation) };
    } catch {
      // Whatever it was, on the whole way it happens again and is answered there.
      known.misses += 1;
      return null;
    }
  }
}

function compile(query: AnsweredQuery, plans: CompiledPlans): CompiledOperation | null {
  try {
    return new CompiledOperation(query, plans);
  } catch {
    // It is answered the whole way, as ever.
    return null;
  }
}
