import { Kind, type OperationDefinitionNode } from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';
import { BoundedMap } from '../../bounded-map.ts';
import type { GraphContext } from '../../graph/context.ts';
import type { Receipt } from '../../upstream/receipt.ts';
import { Doorkeeper } from '../exact-memory.ts';
import type { AnswerParts } from '../remembered-answers.ts';
import {
  type AskedOperation,
  type RequestNames,
  shapeOf,
  shortName,
  type TextShape,
} from '../request-names.ts';
import { Attempts, createCompiledPlans } from './compiled-operation.ts';
import { type LiftedText, liftLiterals } from './lifted-literals.ts';
import type { Variables } from './planner.ts';
import type { ReadQuery, TextReader, VariableCheck } from './read-text.ts';

/** Total length of stored operation texts, in characters: parsed, they take about a hundred times the memory. */
const MAX_CHARACTERS = 128 * 1024;
/** Total length of the `Accept` headers whose content types are remembered, in characters. */
const MAX_ACCEPTED_CHARACTERS = 8 * 1024;

/** The result of an attempt. */
interface Made {
  /** The data of the response as JSON. */
  readonly data: string;
  readonly receipt: Receipt;
}

/** A response that was created synchronously from cached data. */
export interface CompiledAnswer extends Made {
  readonly contentType: string;
  /** The operation's name, shortened. */
  readonly name: string | null;
}

interface Known {
  readonly query: ReadQuery;
  readonly contentType: string;
  /** The operation's name in its own text. */
  readonly name: string | null;
  readonly attempts: Attempts;
  /** The values in its text for variables of the query; `null` if it has none. */
  readonly literals: Variables | null;
  /** ... and their values in another text of the same shape. */
  readonly valuesOf: LiftedText['valuesOf'] | null;
}

/** A run of an operation in the normal execution, after all checks. */
interface ValidRun {
  readonly query: ReadQuery;
  readonly variables: Variables;
  readonly viewer: Viewer;
  /** Records the ingredients of the response, if there is one. */
  readonly receipt: Receipt;
}

/** An attempt to execute an operation. */
interface Run extends Omit<ValidRun, 'receipt'> {
  readonly attempts: Attempts;
  /** Whether its variables are within their limits. */
  readonly isChecked: boolean;
}

/** The dependencies of the compiled queries of a gateway. */
interface CompiledQueriesOptions {
  /** Creates the context of an attempt. */
  readonly open: (viewer: Viewer) => GraphContext;
  readonly parts: AnswerParts;
  /** `null` if operations sent as text are not executed. */
  readonly read: TextReader | null;
  readonly check: VariableCheck;
}

/**
 * Executes queries synchronously from the cache, without Yoga: each by a plan, which is stored once its text was
 * seen twice, and used with any variables. New texts are parsed here too, and the result is passed on if the query
 * is not executed here. Queries that are not fully cached, fail, or would cost a request leave no other trace, and
 * are executed normally.
 */
export class CompiledQueries {
  readonly #known = new BoundedMap<Known>({
    max: MAX_CHARACTERS,
    maxShare: 1 / 8,
    weigh: ({ length }) => length,
  });
  /** The content type of Yoga's response by `Accept` header, once known. */
  readonly #contentTypes = new BoundedMap<string>({
    max: MAX_ACCEPTED_CHARACTERS,
    maxShare: 1 / 8,
    weigh: ({ length }) => length,
  });
  /** Seen texts, so that texts sent once do not displace those that are repeated. */
  readonly #seen = new Doorkeeper();
  /** Texts that Yoga must execute, and shapes whose literals cannot become variables. */
  readonly #unfit = new Doorkeeper();
  /** Shared by all keys of one parsed operation, and by both paths. */
  readonly #attempts = new WeakMap<OperationDefinitionNode, Attempts>();
  readonly #plans = createCompiledPlans();
  readonly #open: CompiledQueriesOptions['open'];
  readonly #parts: AnswerParts;
  readonly #read: TextReader | null;
  readonly #check: VariableCheck;

  constructor({ check, open, parts, read }: CompiledQueriesOptions) {
    this.#check = check;
    this.#open = open;
    this.#parts = parts;
    this.#read = read;
  }

  /** Records that Yoga has executed a query, and the content type. */
  note(names: RequestNames, contentType: string, query: ReadQuery): void {
    this.#contentTypes.set(names.accept, contentType);
    const { isText, operation, read } = names;
    if (operation === null) return;
    // A text is parsed here only when it is repeated. Until then, only Yoga stores its parsed form.
    if (!isText || !this.#read) this.#keep(operation, contentType, query);
    else if (read?.query) this.#keep(operation, contentType, read.query);
  }

  /** Whether an attempt here is worthwhile. */
  mayAnswer(names: RequestNames, { key, text }: AskedOperation): boolean {
    const known = this.#known.peek(key);
    if (known) return !known.attempts.areVain;
    if (text === null || !this.#read || this.#unfit.knows(key)) return false;
    return this.#contentTypes.peek(names.accept) !== undefined;
  }

  /** Executes a query synchronously; `null` if that is impossible. Costs no upstream request. */
  answer(names: RequestNames, asked: AskedOperation, viewer: Viewer): CompiledAnswer | null {
    const known = this.#known.get(asked.key);
    return known ? this.#answerKnown(known, asked, viewer) : this.#answerText(names, asked, viewer);
  }

  #answerKnown(known: Known, asked: AskedOperation, viewer: Viewer): CompiledAnswer | null {
    const { attempts, contentType, literals, name, query } = known;
    const variables = literals ? { ...asked.variables, ...literals } : asked.variables;
    const made = this.#run({ attempts, query, variables, viewer, isChecked: false });
    return made && { ...made, contentType, name: shortName(name) };
  }

  /** Runs an attempt; `null` if it fails. Each failure occurs again in the normal execution. */
  #run({ attempts, isChecked, query, variables, viewer }: Run): Made | null {
    const compiled = attempts.next(query);
    if (!compiled) return null;
    try {
      if (!isChecked) this.#check(query, variables);
      const context = this.#open(viewer);
      const { receipt } = context;
      const data = compiled.run(context, variables, this.#parts.of(viewer, receipt.ingredients));
      receipt.settle();
      attempts.succeeded();
      return { data, receipt };
    } catch {
      return null;
    }
  }

  /** Executes an unknown text by the plan of another that differs in name, literals, comments or whitespace. */
  #answerText(names: RequestNames, asked: AskedOperation, viewer: Viewer): CompiledAnswer | null {
    const { key, operationName: wanted, text } = asked;
    const contentType = this.#contentTypes.get(names.accept);
    if (text === null || contentType === undefined || !this.#read) return null;
    const shape = shapeOf(names.accept, text);
    // With the same literals, or with any.
    const alike = shape && (this.#known.get(shape.same) ?? this.#known.get(shape.any));
    if (shape && alike && (wanted === null || wanted === shape.name)) {
      const known = knownOf(alike, shape);
      if (this.#seen.admits(key)) this.#known.set(key, known);
      return this.#answerKnown(known, asked, viewer);
    }
    names.read = this.#read(text, wanted);
    const query = names.read?.query;
    const once = new Attempts(null);
    if (!query || !once.prepare(query)) {
      this.#unfit.admits(key);
      return null;
    }
    const shared = shape && hasOneOperation(query) && this.#keepShape(shape, contentType, query);
    const isSecond = this.#seen.admits(key);
    let known: Known;
    if (shared) {
      known = knownOf(shared, shape);
      if (isSecond) this.#known.set(key, known);
    } else {
      known = isSecond ? this.#keep(key, contentType, query) : newlyKnown(query, contentType, once);
    }
    return this.#answerKnown(known, asked, viewer);
  }

  #keep(
    key: string,
    contentType: string,
    query: ReadQuery,
    valuesOf: Known['valuesOf'] = null,
  ): Known {
    const kept = this.#known.peek(key);
    if (kept) return kept;
    const known = { ...newlyKnown(query, contentType, this.#attemptsOf(query)), valuesOf };
    this.#known.set(key, known);
    return known;
  }

  /**
   * Stores a query for texts of the same shape, once two were seen: unchanged if their literals are equal, so that
   * parts that depend on literals alone are reused; otherwise with variables for literals, where possible.
   */
  #keepShape({ any, same }: TextShape, contentType: string, query: ReadQuery): Known | undefined {
    const isSecond = any !== same && this.#seen.admits(any);
    if (this.#seen.admits(same)) return this.#keep(same, contentType, query);
    if (!isSecond || this.#unfit.knows(any)) return undefined;
    const lifted = liftLiterals(query);
    // No error refers to this text: a failure is reported by the normal execution.
    const read = lifted && this.#read?.(lifted.text, null, { noLocation: true })?.query;
    if (lifted && read) return this.#keep(any, contentType, read, lifted.valuesOf);
    this.#unfit.admits(any);
    return undefined;
  }

  /**
   * Executes a query of the normal path synchronously, if it was executed before and all its data is cached: its
   * data as JSON, or `null`. Costs no upstream request.
   */
  execute({ query, receipt, variables, viewer }: ValidRun): string | null {
    const attempts = this.#attempts.get(query.operation);
    if (!attempts) {
      // Most texts that are sent once are never sent again.
      this.#attemptsOf(query);
      return null;
    }
    const made = this.#run({ attempts, query, variables, viewer, isChecked: true });
    if (!made) return null;
    receipt.include(made.receipt);
    return made.data;
  }

  #attemptsOf({ operation }: ReadQuery): Attempts {
    let attempts = this.#attempts.get(operation);
    if (!attempts) {
      attempts = new Attempts(this.#plans);
      this.#attempts.set(operation, attempts);
    }
    return attempts;
  }
}

/** Data derived from a query alone. */
function newlyKnown(query: ReadQuery, contentType: string, attempts: Attempts): Known {
  const name = query.operation.name?.value ?? null;
  return { query, contentType, name, attempts, literals: null, valuesOf: null };
}

/** Data derived from one text and its shape. */
function knownOf(shared: Known, { literals, name }: TextShape): Known {
  return { ...shared, literals: shared.valuesOf?.(literals) ?? null, name };
}

/** Whether its document has no other operation. */
function hasOneOperation({ document }: ReadQuery): boolean {
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  return operations.length === 1;
}
