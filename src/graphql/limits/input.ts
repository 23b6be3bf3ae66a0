import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { BadUserInput } from '../../errors.ts';
import { LONGEST_TEXT, MAX_NESTED_VALUES } from './text.ts';

/** Entries of a list, ids among them, and members of an object. */
const MAX_ENTRIES = 500;
/** Characters of a place in a message. */
const MAX_PLACE = 100;

/** Characters of a text about which nothing else is said: the longest URL in use, or a cursor of this graph. */
const USUAL_TEXT = 2000;
/** ... of search texts and names: each is compared with many rows. */
const SHORT_TEXT = 256;
/** ... of a global id with an encrypted text, such as a purchase code of 200 characters. */
const SEALED_ID = 1200;

/** Places with a higher or lower limit than usual, by the schema's coordinates. */
export const textLimits: Readonly<Record<string, number>> = {
  'Query.items(category:)': SHORT_TEXT,
  'Query.items(tag:)': SHORT_TEXT,
  'Query.overlays(type:)': SHORT_TEXT,
  'Query.purchase(code:)': SHORT_TEXT,
  'Query.purchases(codes:)': SHORT_TEXT,
  'Query.node(id:)': SEALED_ID,
  'Query.nodes(ids:)': SEALED_ID,
  'Query.users(email:)': SHORT_TEXT,
  'StartExportInput.query': LONGEST_TEXT,
  'CreateChannelInput.description': LONGEST_TEXT,
  'UpdateChannelInput.description': LONGEST_TEXT,
  'QrDataInput.value': LONGEST_TEXT,
};

/** The same by the name of an argument, of any field. */
const byName: Readonly<Record<string, number>> = { search: SHORT_TEXT };

/** The same by the scalar that a text is given for. */
const byScalar: Readonly<Record<string, number>> = { ID: SHORT_TEXT, JSONObject: LONGEST_TEXT };

/** Characters that a text may have which is given for this argument or member, of this type. */
function mostCharacters(coordinate: string, type: Type): number {
  const [, name = ''] = /\((\w+):\)$/.exec(coordinate) ?? [];
  return textLimits[coordinate] ?? byName[name] ?? byScalar[type?.name ?? ''] ?? USUAL_TEXT;
}

/** What is known of a document's input before any variables are. */
export interface InputPlan {
  /** What is too large in the text itself. */
  readonly fault: GraphQLError | null;
  /**
   * Maximum length of a string in a variable, by the variable's name: of the strictest place in any operation of
   * the document.
   */
  readonly texts: ReadonlyMap<string, number>;
}

/** Measures the literal values of a valid document, and collects the places of its variables. O(n). */
export function planInput(schema: GraphQLSchema, document: DocumentNode): InputPlan {
  const types = new TypeInfo(schema);
  const texts = new Map<string, number>();
  const defaults: { readonly name: string; readonly node: ValueNode; readonly length: number }[] =
    [];
  let fault: GraphQLError | null = null;
  const complain = (node: ValueNode, message: string): void => {
    fault ??= new GraphQLError(message, { nodes: [node] });
  };
  /** `owner` is the variable whose default value contains it. Strings are nested only a few levels deep. */
  const look = (node: ValueNode, type: Type, limit: number, owner: string | null): void => {
    if (node.kind === Kind.VARIABLE) {
      const name = node.name.value;
      if (owner === null) texts.set(name, Math.min(texts.get(name) ?? limit, limit));
    } else if (node.kind === Kind.STRING) {
      const { length } = node.value;
      if (owner !== null) defaults.push({ name: owner, node, length });
      if (length > limit) complain(node, tooLong('A text', limit, length));
    } else if (node.kind === Kind.LIST) {
      const { length } = node.values;
      if (length > MAX_ENTRIES) complain(node, tooMany('A list', length));
      for (const value of node.values) look(value, type, limit, owner);
    } else if (node.kind === Kind.OBJECT) {
      const { length } = node.fields;
      if (length > MAX_ENTRIES) complain(node, tooMany('An object', length));
      for (const { name, value } of node.fields) {
        const member = memberOf(type, name.value, limit);
        look(value, member.type, member.limit, owner);
      }
    }
  };
  const visitor: ASTVisitor = {
    VariableDefinition({ defaultValue, variable }) {
      const type = getNamedType(types.getInputType());
      if (defaultValue) look(defaultValue, type, LONGEST_TEXT, variable.name.value);
    },
    Argument({ name, value }) {
      const directive = types.getDirective();
      const owner = directive
        ? `@${directive.name}`
        : `${types.getParentType()?.name}.${types.getFieldDef()?.name}`;
      const type = getNamedType(types.getInputType());
      look(value, type, mostCharacters(`${owner}(${name.value}:)`, type), null);
    },
  };
  visit(document, visitWithTypeInfo(types, visitor));
  for (const { name, node, length } of defaults) {
    const limit = texts.get(name) ?? LONGEST_TEXT;
    if (length > limit) complain(node, tooLong(`"$${name}"`, limit, length));
  }
  return { fault, texts };
}

/** The named type of a value; `undefined` if unknown. */
type Type = GraphQLNamedType | undefined;

/** The type of a member of a value, and the characters that a text in it may have, by those of the value. */
function memberOf(
  type: Type,
  name: string,
  limit: number,
): { readonly type: Type; readonly limit: number } {
  // What is in a scalar is a part of it.
  if (!isInputObjectType(type)) return { type, limit };
  const member = getNamedType(type.getFields()[name]?.type);
  return { type: member, limit: mostCharacters(`${type.name}.${name}`, member) };
}

/**
 * Measures the variables of a request before any other use: only those that the operation declares, because the
 * others are never used. O(n).
 * @throws BadUserInput `BAD_USER_INPUT` with the place of the value that is too large.
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
    const limit = texts.get(name) ?? LONGEST_TEXT;
    new ValueCheck(name).check(variables[name], getNamedType(inputType), limit);
  }
}

class ValueCheck {
  readonly #name: string;
  readonly #path: (string | number)[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  check(value: unknown, type: Type, limit: number): void {
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
      for (const name of names) {
        if (!isInputObjectType(type) && name.length > limit) {
          this.#refuse((place) => tooLong(place, limit, name.length));
        }
        const member = memberOf(type, name, limit);
        this.#below(name, value[name], member.type, member.limit);
      }
    }
  }

  /** Into a list or an object with this number of entries. */
  #enter(entries: number): void {
    if (entries > MAX_ENTRIES) this.#refuse((place) => tooMany(place, entries));
    if (this.#path.length >= MAX_NESTED_VALUES) {
      this.#refuse((place) => `${place} is nested more than ${MAX_NESTED_VALUES} levels deep.`);
    }
  }

  #below(step: string | number, value: unknown, type: Type, limit: number): void {
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
  `${what} has ${length} characters; the limit is ${limit}.`;
const tooMany = (what: string, count: number): string =>
  `${what} has ${count} entries; the limit is ${MAX_ENTRIES}.`;
