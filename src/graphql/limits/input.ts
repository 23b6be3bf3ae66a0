import {
  type ASTVisitor,
  BREAK,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  type OperationDefinitionNode,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { BadUserInput } from '../../errors.ts';
import { MAX_NESTED_VALUES } from './text.ts';
import { LONGEST_TEXT, mostCharacters } from './text-lengths.ts';

/** Entries of a list, ids among them, and members of an object. */
const MAX_ENTRIES = 500;
/** Characters of a place in a message. */
const MAX_PLACE = 100;

/** What is known of a document's input before any variables are. */
export interface InputPlan {
  /** What is too large in the text itself. */
  readonly fault: GraphQLError | null;
  /**
   * Characters that a text in a variable may have, by the variable's name: of the strictest place where
   * any operation of the document uses it.
   */
  readonly texts: ReadonlyMap<string, number>;
}

/** Measures the values written in a valid document, and finds out where its variables go. O(n). */
export function planInput(schema: GraphQLSchema, document: DocumentNode): InputPlan {
  const types = new TypeInfo(schema);
  const { plan, visitor } = inputVisitor(types);
  visit(document, visitWithTypeInfo(types, visitor));
  return plan();
}

/** As `planInput`, on a walk that others are on: `plan` is to be asked for behind it. */
export function inputVisitor(info: TypeInfo): {
  readonly visitor: ASTVisitor;
  readonly plan: () => InputPlan;
} {
  const texts = new Map<string, number>();
  /** Of the arguments and members around the value that is looked at. */
  const limits: number[] = [];
  const defaults: { readonly name: string; readonly node: ValueNode; readonly length: number }[] =
    [];
  let variable: string | null = null;
  let fault: GraphQLError | null = null;
  const complain = (node: ValueNode, message: string): typeof BREAK => {
    fault = new GraphQLError(message, { nodes: [node] });
    return BREAK;
  };
  const leave = (): void => void limits.pop();
  const visitor: ASTVisitor = {
    VariableDefinition: {
      enter({ variable: { name } }) {
        variable = name.value;
        limits.push(LONGEST_TEXT);
      },
      leave() {
        variable = null;
        limits.pop();
      },
    },
    Argument: {
      enter({ name }) {
        const directive = info.getDirective();
        const owner = directive
          ? `@${directive.name}`
          : `${info.getParentType()?.name}.${info.getFieldDef()?.name}`;
        limits.push(mostCharacters(`${owner}(${name.value}:)`, nameOf(info.getInputType())));
      },
      leave,
    },
    ObjectField: {
      enter({ name }) {
        const parent = getNamedType(info.getParentInputType());
        limits.push(
          isInputObjectType(parent)
            ? mostCharacters(`${parent.name}.${name.value}`, nameOf(info.getInputType()))
            : (limits.at(-1) ?? LONGEST_TEXT),
        );
      },
      leave,
    },
    Variable({ name }) {
      // That of a definition is no use of it.
      if (variable !== null) return;
      const limit = limits.at(-1) ?? LONGEST_TEXT;
      texts.set(name.value, Math.min(texts.get(name.value) ?? limit, limit));
    },
    StringValue(node) {
      const limit = limits.at(-1);
      // A description is no value.
      if (limit === undefined) return undefined;
      const { length } = node.value;
      if (variable !== null) defaults.push({ name: variable, node, length });
      return length > limit ? complain(node, tooLong('A text', limit, length)) : undefined;
    },
    ListValue: (node) =>
      node.values.length > MAX_ENTRIES
        ? complain(node, tooMany('A list', node.values.length))
        : undefined,
    ObjectValue: (node) =>
      node.fields.length > MAX_ENTRIES
        ? complain(node, tooMany('An object', node.fields.length))
        : undefined,
  };
  return {
    visitor,
    plan() {
      for (const { name, node, length } of defaults) {
        const limit = texts.get(name) ?? LONGEST_TEXT;
        if (length > limit && !fault) complain(node, tooLong(`"$${name}"`, limit, length));
      }
      return { fault, texts };
    },
  };
}

function nameOf(type: GraphQLInputType | null | undefined): string {
  return getNamedType(type)?.name ?? '';
}

/**
 * Measures the variables of a request as they came, before anything else looks at them: only those that
 * the operation declares, since the others are never used. O(n).
 * @throws BadUserInput `BAD_USER_INPUT` with the place of what is too large.
 */
export function checkVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
  { texts }: InputPlan,
): void {
  for (const { variable, type } of variableDefinitions) {
    const name = variable.name.value;
    if (!Object.hasOwn(variables, name)) continue;
    const inputType = typeFromAST(schema, type) as GraphQLInputType | undefined;
    new ValueCheck(name).check(variables[name], inputType, texts.get(name) ?? LONGEST_TEXT);
  }
}

class ValueCheck {
  readonly #name: string;
  readonly #path: (string | number)[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  check(value: unknown, type: GraphQLInputType | undefined, limit: number): void {
    if (typeof value === 'string') {
      if (value.length > limit) this.#refuse((place) => tooLong(place, limit, value.length));
    } else if (Array.isArray(value)) {
      this.#enter(value.length);
      value.forEach((item: unknown, index) => {
        this.#below(index, item, type, limit);
      });
    } else if (isPlain(value)) {
      const names = Object.keys(value);
      this.#enter(names.length);
      const named = getNamedType(type);
      for (const name of names) {
        if (isInputObjectType(named)) {
          const member = named.getFields()[name]?.type;
          this.#below(
            name,
            value[name],
            member,
            mostCharacters(`${named.name}.${name}`, nameOf(member)),
          );
        } else {
          if (name.length > limit) this.#refuse((place) => tooLong(place, limit, name.length));
          this.#below(name, value[name], type, limit);
        }
      }
    }
  }

  /** Into a list or an object with this number of entries. */
  #enter(entries: number): void {
    if (entries > MAX_ENTRIES) this.#refuse((place) => tooMany(place, entries));
    if (this.#path.length >= MAX_NESTED_VALUES) {
      this.#refuse((place) => `${place} is nested more than ${MAX_NESTED_VALUES} deep.`);
    }
  }

  #below(
    step: string | number,
    value: unknown,
    type: GraphQLInputType | undefined,
    limit: number,
  ): void {
    this.#path.push(step);
    this.check(value, type, limit);
    this.#path.pop();
  }

  #refuse(message: (place: string) => string): never {
    const steps = this.#path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
    const place = `$${this.#name}${steps.join('')}`;
    const shown = place.length > MAX_PLACE ? `${place.slice(0, MAX_PLACE - 3)}...` : place;
    throw new BadUserInput(message(`"${shown}"`));
  }
}

/** A file that came with the request is not looked into. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

const tooLong = (what: string, limit: number, length: number): string =>
  `${what} may have at most ${limit} characters, not ${length}.`;
const tooMany = (what: string, count: number): string =>
  `${what} may have at most ${MAX_ENTRIES} entries, not ${count}.`;
