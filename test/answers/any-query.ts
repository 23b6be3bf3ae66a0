import * as fc from 'fast-check';
import {
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLInterfaceType,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
} from 'graphql';

/** A query, and two sets of values for its variables. */
export interface AnyQuery {
  readonly query: string;
  readonly variables: readonly [
    Readonly<Record<string, unknown>>,
    Readonly<Record<string, unknown>>,
  ];
}

/** Takes one of several. */
type Pick = <T>(of: readonly T[]) => T;

const DEPTH = 4;
/** What is true of one moment, costs a call each time, or cannot be found in a sandbox by chance. */
const LEFT_OUT = new Set(['rateLimit', 'apiKey', 'purchase']);
const IDS = ['1', '2', '3', '5', '40', '999999'];

/** Any query of a schema with arguments that it takes, most of which ask for something that is there. */
export function anyQuery(schema: GraphQLSchema): fc.Arbitrary<AnyQuery> {
  return fc.gen().map((gen) => {
    const pick: Pick = (of) => of[gen(fc.nat, { max: of.length - 1 })] as (typeof of)[number];
    return new Writer(schema, pick).write();
  });
}

class Writer {
  readonly #schema: GraphQLSchema;
  readonly #pick: Pick;
  readonly #definitions: string[] = [];
  readonly #fragments: string[] = [];
  readonly #values: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  #aliases = 0;

  constructor(schema: GraphQLSchema, pick: Pick) {
    this.#schema = schema;
    this.#pick = pick;
  }

  write(): AnyQuery {
    const selection = this.#selection(this.#schema.getQueryType() as GraphQLObjectType, DEPTH);
    const definitions = this.#definitions.length > 0 ? `(${this.#definitions.join(', ')})` : '';
    return {
      query: [`query Any${definitions} ${selection}`, ...this.#fragments].join('\n'),
      variables: this.#values,
    };
  }

  #selection(type: GraphQLNamedOutputType, depth: number): string {
    const parts: string[] = [];
    if ('getFields' in type) {
      const all = Object.values((type as GraphQLObjectType | GraphQLInterfaceType).getFields());
      const fits = all.filter((field) => this.#fits(field, depth));
      const count = fits.length > 0 ? this.#pick([1, 2, 3]) : 0;
      for (let n = 0; n < count; n += 1) parts.push(this.#field(this.#pick(fits), depth));
    }
    if (isAbstractType(type)) {
      for (const each of this.#schema.getPossibleTypes(type)) {
        if (this.#pick([true, false]))
          parts.push(`... on ${each.name} ${this.#selection(each, depth)}`);
      }
    }
    if (parts.length === 0 || this.#pick([true, false, false])) parts.push('__typename');
    const selection = `{ ${parts.join(' ')} }`;
    if (this.#pick([false, false, false, true]) && depth < DEPTH) {
      const name = `F${this.#fragments.length}`;
      this.#fragments.push(`fragment ${name} on ${type.name} ${selection}`);
      return `{ ...${name} }`;
    }
    return selection;
  }

  #fits({ name, type, args }: GraphQLField<unknown, unknown>, depth: number): boolean {
    if (LEFT_OUT.has(name) || (depth === 0 && isCompositeType(getNamedType(type)))) return false;
    return args.every((arg) => ['id', 'ids'].includes(arg.name) || !isNonNullType(arg.type));
  }

  #field({ name, type, args }: GraphQLField<unknown, unknown>, depth: number): string {
    const named = getNamedType(type);
    const given = args.flatMap((arg) => this.#argument(arg) ?? []);
    this.#aliases += 1;
    // Each has a name of its own, so that no two of them contradict each other.
    const head = `a${this.#aliases}: ${name}${given.length > 0 ? `(${given.join(', ')})` : ''}`;
    const condition = this.#condition();
    const below = isCompositeType(named)
      ? this.#selection(named as GraphQLNamedOutputType, depth - 1)
      : '';
    return [head, condition, below].filter(Boolean).join(' ');
  }

  #argument({ name, type }: GraphQLArgument): string | null {
    if (name === 'first') return `first: ${this.#value('Int', ['0', '1', '3'].map(Number))}`;
    if (name === 'id') return `id: ${this.#value('ID!', IDS)}`;
    if (name === 'ids') return `ids: ${this.#value('[ID!]!', [[], ['Q2hhbm5lbDox'], ['nothing']])}`;
    if (name === 'search' && this.#pick([false, false, true])) {
      return `search: ${this.#value('String', ['a', 'e'])}`;
    }
    if (name === 'offset' && this.#pick([false, false, true])) {
      return `offset: ${this.#value('Int', [0, 2, 30])}`;
    }
    if (type === GraphQLBoolean && this.#pick([false, false, false, true])) {
      return `${name}: ${this.#value('Boolean', [true, false, null])}`;
    }
    const isOrder = name === 'orderBy' && isInputObjectType(type);
    return isOrder && this.#pick([false, false, true]) ? `orderBy: ${this.#order(type)}` : null;
  }

  /** An order written out, or as a variable. */
  #order(type: GraphQLInputObjectType): string {
    const fields = getNamedType(type.getFields()['field']?.type);
    if (!isEnumType(fields)) throw new TypeError(`${type.name} has no fields`);
    const names = fields.getValues().map(({ name }) => name);
    const any = () => ({ field: this.#pick(names), direction: this.#pick(['ASC', 'DESC']) });
    if (this.#pick([true, false])) return JSON.stringify(any()).replaceAll('"', '');
    return this.#variable(type.name, any);
  }

  #condition(): string {
    const directive = this.#pick(['', '', '', '', '', '@skip', '@include']);
    return directive && `${directive}(if: ${this.#value('Boolean!', [true, false])})`;
  }

  /** Written out, or as a variable that has two values. */
  #value(type: string, values: readonly unknown[]): string {
    if (this.#pick([true, false])) return JSON.stringify(this.#pick(values));
    return this.#variable(type, () => this.#pick(values));
  }

  #variable(type: string, any: () => unknown): string {
    const name = `v${this.#definitions.length}`;
    this.#definitions.push(`$${name}: ${type}`);
    for (const set of this.#values) set[name] = any();
    return `$${name}`;
  }
}
