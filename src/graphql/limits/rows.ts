import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { DEFAULT_WINDOW, MAX_WINDOW } from '../../upstream/lists/window.ts';

/** The assumed length of a list of objects with an id that is returned whole. */
const WHOLE_LIST = 100;
/** The most that the `last` of a list without paging returns: hours of a history. */
const MOST_POINTS = 720;
/** What any other list of objects counts: those that are a part of a row. */
const PART_LIST = 10;

/** A selection, and the type that it is made on. */
interface TypedSelection {
  readonly type: GraphQLNamedType;
  readonly set: SelectionSetNode;
}

/** One of the places in a text that select a field. */
interface Occurrence {
  readonly type: GraphQLNamedType;
  readonly node: FieldNode;
}

/** The size of an operation. */
interface AskedFor {
  readonly rows: number;
  /** Ids and codes that it wants looked up. */
  readonly ids: number;
}

type Variables = Readonly<Record<string, unknown>>;

/**
 * Counts the rows that an operation of a valid document requests, multiplied down the selection: a connection has
 * as many as its `first`, `last` or default, `nodes` as many as it has ids. Fields with the same response name
 * count once, because they are merged. Selections that `@skip` and `@include` omit are not counted, those that
 * `@defer` postpones are. Takes a step for each field, with fragments expanded.
 */
export function countRows(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): AskedFor {
  const root = schema.getRootType(operation.operation);
  const count = new RowCount(schema, document, operation, variables);
  const rows = root ? count.below([{ type: root, set: operation.selectionSet }], null) : 0;
  return { rows, ids: count.ids };
}

class RowCount {
  readonly #schema: GraphQLSchema;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #defaults = new Map<string, ValueNode>();
  readonly #variables: Variables;
  ids = 0;

  constructor(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Variables,
  ) {
    this.#schema = schema;
    this.#variables = variables;
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        this.#fragments.set(definition.name.value, definition);
      }
    }
    for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
      if (defaultValue) this.#defaults.set(variable.name.value, defaultValue);
    }
  }

  /** Rows below merged selections; `window` is that of the connection around them. */
  below(selected: readonly TypedSelection[], window: number | null): number {
    const fields = new Map<string, Occurrence[]>();
    const spread = new Set<string>();
    for (const { type, set } of selected) this.#collect(type, set.selections, fields, spread);
    let rows = 0;
    for (const occurrences of fields.values()) rows += this.#rowsOf(occurrences, window);
    return rows;
  }

  #collect(
    type: GraphQLNamedType,
    selections: readonly SelectionNode[],
    fields: Map<string, Occurrence[]>,
    spread: Set<string>,
  ): void {
    for (const node of selections) {
      if (this.#isLeftOut(node)) continue;
      if (node.kind === Kind.FIELD) {
        const key = node.alias?.value ?? node.name.value;
        const occurrences = fields.get(key);
        if (occurrences) occurrences.push({ type, node });
        else fields.set(key, [{ type, node }]);
        continue;
      }
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        if (spread.has(node.name.value)) continue;
        spread.add(node.name.value);
      }
      const fragment =
        node.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(node.name.value) : node;
      if (!fragment) continue;
      const on = fragment.typeCondition?.name.value;
      const inner = on === undefined ? type : (this.#schema.getType(on) ?? type);
      this.#collect(inner, fragment.selectionSet.selections, fields, spread);
    }
  }

  #rowsOf(occurrences: readonly Occurrence[], window: number | null): number {
    const selected: TypedSelection[] = [];
    let times: number | null = null;
    let asked: number | null = null;
    let ids = 0;
    for (const { type, node } of occurrences) {
      const field = this.#fieldOf(type, node);
      if (!field || !node.selectionSet) continue;
      const of = getNamedType(field.type);
      if (isLeafType(of)) continue;
      selected.push({ type: of, set: node.selectionSet });
      if (isListType(getNullableType(field.type))) {
        if (looksForIds(field)) ids = Math.max(ids, this.#idsOf(node));
        times = Math.max(times ?? 0, window ?? this.#lengthOf(type, field, node, of));
      } else if (isConnection(of)) {
        asked = Math.max(asked ?? 0, this.#windowOf(field, node));
      }
    }
    this.ids += ids;
    if (selected.length === 0) return 0;
    const rows = this.below(selected, asked);
    if (times !== null) return times * (1 + rows);
    // Its rows are read even if only their total is shown.
    return Math.max(rows, asked ?? 0);
  }

  #fieldOf(
    type: GraphQLNamedType,
    { name }: FieldNode,
  ): GraphQLField<unknown, unknown> | undefined {
    if (name.value === '__schema') return SchemaMetaFieldDef;
    if (name.value === '__type') return TypeMetaFieldDef;
    return isObjectType(type) || isInterfaceType(type) ? type.getFields()[name.value] : undefined;
  }

  /** The length of a list outside of a connection. */
  #lengthOf(
    type: GraphQLNamedType,
    field: GraphQLField<unknown, unknown>,
    node: FieldNode,
    of: GraphQLNamedType,
  ): number {
    if (type.name === '__Schema' && field.name === 'types') {
      return Object.keys(this.#schema.getTypeMap()).length;
    }
    if (looksForIds(field)) return this.#idsOf(node);
    if (takes(field, 'last')) return this.#lastOf(field, node);
    const hasId = (isObjectType(of) || isInterfaceType(of)) && of.getFields()['id'] !== undefined;
    return hasId ? WHOLE_LIST : PART_LIST;
  }

  #idsOf(node: FieldNode): number {
    const lengths = ID_LISTS.map((name) => {
      const value = this.#argument(node, name);
      return Array.isArray(value) ? value.length : 1;
    });
    return Math.max(...lengths);
  }

  /** The elements of a list that has as many as its `last` requests; it validates the argument itself. */
  #lastOf(field: GraphQLField<unknown, unknown>, node: FieldNode): number {
    const given = this.#argument(node, 'last');
    const last = given ?? field.args.find(({ name }) => name === 'last')?.defaultValue;
    return typeof last === 'number' && last >= 0 ? Math.min(last, MOST_POINTS) : MOST_POINTS;
  }

  /** The rows that a connection's arguments request; it validates the arguments itself. */
  #windowOf(field: GraphQLField<unknown, unknown>, node: FieldNode): number {
    const asked = ['first', 'last']
      .filter((each) => field.args.some(({ name }) => name === each))
      .map((name) => this.#argument(node, name))
      .filter((value) => value !== undefined && value !== null);
    const counts = asked.map((value) =>
      typeof value === 'number' ? Math.min(Math.max(value, 0), MAX_WINDOW) : DEFAULT_WINDOW,
    );
    return counts.length > 0 ? Math.max(...counts) : DEFAULT_WINDOW;
  }

  /** An argument's value, as far as it counts here; `undefined` if it is not given. */
  #argument(node: FieldNode, wanted: string): unknown {
    const argument = node.arguments?.find(({ name }) => name.value === wanted);
    return argument && this.#valueOf(argument.value);
  }

  #valueOf(node: ValueNode): unknown {
    if (node.kind === Kind.VARIABLE) {
      const name = node.name.value;
      if (Object.hasOwn(this.#variables, name) && this.#variables[name] !== undefined) {
        return this.#variables[name];
      }
      const byDefault = this.#defaults.get(name);
      return byDefault && this.#valueOf(byDefault);
    }
    if (node.kind === Kind.NULL) return null;
    if (node.kind === Kind.LIST) return node.values;
    if (node.kind === Kind.INT) return Number(node.value);
    return node.kind === Kind.BOOLEAN ? node.value : node;
  }

  #isLeftOut({ directives = [] }: SelectionNode): boolean {
    return directives.some(({ name, arguments: given }) => {
      const leavesOutIf = leavingOut[name.value];
      const value = given?.[0]?.value;
      return leavesOutIf !== undefined && value && this.#valueOf(value) === leavesOutIf;
    });
  }
}

/** The values of `if` with which a directive omits its element. */
const leavingOut: Readonly<Record<string, boolean | undefined>> = { skip: true, include: false };

/** The arguments that list what to look up. */
const ID_LISTS: readonly string[] = ['ids', 'codes'];

function looksForIds(field: GraphQLField<unknown, unknown>): boolean {
  return ID_LISTS.some((name) => takes(field, name));
}

function takes({ args }: GraphQLField<unknown, unknown>, argument: string): boolean {
  return args.some(({ name }) => name === argument);
}

function isConnection(type: GraphQLNamedType): boolean {
  return isObjectType(type) && 'edges' in type.getFields() && 'pageInfo' in type.getFields();
}
