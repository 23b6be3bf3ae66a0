import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeInfo,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { BadUserInput } from '../../errors.ts';
import type { JobOperation } from '../job-operations.ts';

/** Response names that an export adds to the selection of its list. */
export const added = { rows: '__rows', cursors: '__cursors', page: '__page', total: '__total' };

/** The variables for the window of the list that is read next. */
export const windowVariables = { first: '__first', after: '__after' };

/** A query as an export executes it: its list has variables for the window that is read next. */
export interface ExportDocument extends JobOperation {
  /** The response name of the list. */
  readonly root: string;
  /** The name of its field. */
  readonly list: string;
  /** Maximum number of its rows in one step. */
  readonly mostRows: number;
  /** The selection of a row, and its type. */
  readonly row: { readonly type: GraphQLCompositeType; readonly selections: SelectionSetNode };
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

/** Arguments by which a caller limits a list. */
const WINDOW = ['first', 'last', 'after', 'before', 'offset'];
/** Directives that change how a response is delivered. */
const DELIVERY = ['defer', 'stream', 'live'];
/** Rows of a step, without lists within them, and with such lists. */
const MOST_ROWS = { flat: 100, nested: 20 };

/**
 * Converts a valid query with one connection at its root into one that can be executed window by window. No upstream
 * request.
 * @throws BadUserInput `BAD_USER_INPUT` for a query that cannot be exported, with the reason.
 */
export function exportDocument(
  schema: GraphQLSchema,
  { document, operation }: JobOperation,
): ExportDocument {
  const type = schema.getQueryType();
  if (operation.operation !== OperationTypeNode.QUERY || !type) {
    throw new BadUserInput('An export needs a query, not a mutation.');
  }
  const fragments = new Map(
    document.definitions
      .filter((each) => each.kind === Kind.FRAGMENT_DEFINITION)
      .map((each) => [each.name.value, each]),
  );
  const [field, ...others] = fieldsOf(operation.selectionSet, fragments, 'the query');
  const definition = field && type.getFields()[field.name.value];
  if (definition && hasList(definition)) {
    throw new BadUserInput(
      `"${field.name.value}" is not a list with pages: one query returns all of it.`,
    );
  }
  if (!field || !definition || others.length > 0 || !isConnection(definition)) {
    throw new BadUserInput(
      'An export needs a query with one list at its root, such as "{ channels { nodes { name } } }".',
    );
  }
  if (isWindowed(field, WINDOW)) {
    throw new BadUserInput(
      `An export reads all of "${field.name.value}". Remove ${WINDOW.map((name) => `"${name}"`).join(', ')}.`,
    );
  }
  const isNested = checkInnerLists(schema, document, field);
  const row = { type: rowTypeOf(definition), selections: rowsOf(field, fragments) };
  const own: OperationDefinitionNode = {
    ...operation,
    variableDefinitions: [
      ...(operation.variableDefinitions ?? []),
      variableOf(windowVariables.first, 'Int'),
      variableOf(windowVariables.after, 'String'),
    ],
    selectionSet: selectionOf([windowOf(field, row.selections)]),
  };
  return {
    document: { kind: Kind.DOCUMENT, definitions: [own, ...fragments.values()] },
    operation: own,
    root: responseName(field),
    list: field.name.value,
    mostRows: isNested ? MOST_ROWS.nested : MOST_ROWS.flat,
    row,
    fragments,
  };
}

type Fragments = ExportDocument['fragments'];

/** Whether rows have lists with pages in them. @throws BadUserInput for one without a limit, and for `@defer` and the like. */
function checkInnerLists(schema: GraphQLSchema, document: DocumentNode, root: FieldNode): boolean {
  let isNested = false;
  const types = new TypeInfo(schema);
  const check = visitWithTypeInfo(types, {
    Directive({ name }) {
      if (!DELIVERY.includes(name.value)) return;
      throw new BadUserInput(`An export cannot have the directive @${name.value}.`);
    },
    Field(field) {
      const definition = types.getFieldDef();
      if (field === root || !definition || !isConnection(definition)) return;
      isNested = true;
      if (isWindowed(field, ['first', 'last'])) return;
      throw new BadUserInput(
        `"${responseName(field)}" is a list within a row, which is not exported to its end. Add "first" to it.`,
      );
    },
  });
  visit(document, check);
  return isNested;
}

/** The fields of a selection, including those of its fragments. @throws BadUserInput */
function fieldsOf(
  { selections }: SelectionSetNode,
  fragments: Fragments,
  where: string,
): FieldNode[] {
  return selections.flatMap((each): FieldNode[] => {
    if (each.kind === Kind.FIELD) return [each];
    if (each.directives?.length) {
      throw new BadUserInput(`A fragment of ${where} cannot have directives in an export.`);
    }
    return fieldsOf(contentOf(each, fragments).selectionSet, fragments, where);
  });
}

/** An inline fragment, or the definition of a fragment. */
export function contentOf(each: Exclude<SelectionNode, FieldNode>, fragments: Fragments) {
  if (each.kind === Kind.INLINE_FRAGMENT) return each;
  const found = fragments.get(each.name.value);
  if (!found) throw new TypeError(`the fragment ${each.name.value} is missing`);
  return found;
}

/** What the list selects of its rows, by `nodes` or by `edges`. @throws BadUserInput */
function rowsOf(field: FieldNode, fragments: Fragments): SelectionSetNode {
  const name = `"${responseName(field)}"`;
  const named = (all: readonly FieldNode[], wanted: string) =>
    all.filter((each) => each.name.value === wanted);
  const inside = ({ selectionSet }: FieldNode) =>
    selectionSet ? fieldsOf(selectionSet, fragments, name) : [];
  const own = inside(field);
  const nodes = named(own, 'nodes');
  const edges = named(own, 'edges');
  if (nodes.length > 0 && edges.length > 0) {
    throw new BadUserInput(`Select "nodes" or "edges" of ${name}, not both.`);
  }
  const rows = [...nodes, ...named(edges.flatMap(inside), 'node')];
  if (rows.length === 0) {
    throw new BadUserInput(`Select "nodes" of ${name}: each of them becomes a line.`);
  }
  if ([...edges, ...rows].some(({ directives }) => directives?.length)) {
    throw new BadUserInput(`"nodes" of ${name} cannot have directives in an export.`);
  }
  return selectionOf(rows.flatMap(({ selectionSet }) => selectionSet?.selections ?? []));
}

/** The list with its rows, cursors and page info, and variables for its window. */
function windowOf(field: FieldNode, { selections }: SelectionSetNode): FieldNode {
  const { after, first } = windowVariables;
  return {
    ...field,
    arguments: [...(field.arguments ?? []), argumentOf('first', first), argumentOf('after', after)],
    selectionSet: selectionOf([
      fieldOf('nodes', added.rows, selections),
      fieldOf('edges', added.cursors, [fieldOf('cursor')]),
      fieldOf('pageInfo', added.page, [fieldOf('hasNextPage')]),
      fieldOf('totalCount', added.total),
    ]),
  };
}

/** Whether a field returns a connection of Relay. */
function isConnection({ args, type }: GraphQLField<unknown, unknown>): boolean {
  const named = getNamedType(type);
  if (!isObjectType(named) || !args.some(({ name }) => name === 'after')) return false;
  const fields = named.getFields();
  return 'nodes' in fields && 'edges' in fields && 'pageInfo' in fields;
}

function isWindowed({ arguments: given = [] }: FieldNode, by: readonly string[]): boolean {
  return given.some(({ name }) => by.includes(name.value));
}

function rowTypeOf({ type }: GraphQLField<unknown, unknown>): GraphQLCompositeType {
  const connection = getNamedType(type);
  const nodes = isObjectType(connection) ? connection.getFields()['nodes'] : undefined;
  const row = nodes && getNamedType(nodes.type);
  if (!row || !isCompositeType(row)) throw new TypeError('a connection has no nodes');
  return row;
}

/** Whether a field returns a list. */
export function hasList({ type }: GraphQLField<unknown, unknown>): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type);
}

/** The response name of a field. */
export function responseName({ alias, name }: FieldNode): string {
  return alias?.value ?? name.value;
}

function selectionOf(selections: readonly SelectionNode[]): SelectionSetNode {
  return { kind: Kind.SELECTION_SET, selections };
}

function fieldOf(name: string, alias?: string, selections?: readonly SelectionNode[]): FieldNode {
  return {
    kind: Kind.FIELD,
    name: { kind: Kind.NAME, value: name },
    ...(alias === undefined ? {} : { alias: { kind: Kind.NAME, value: alias } }),
    ...(selections && { selectionSet: selectionOf(selections) }),
  };
}

function argumentOf(name: string, variable: string): ArgumentNode {
  return {
    kind: Kind.ARGUMENT,
    name: { kind: Kind.NAME, value: name },
    value: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: variable } },
  };
}

function variableOf(name: string, type: string): VariableDefinitionNode {
  return {
    kind: Kind.VARIABLE_DEFINITION,
    variable: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } },
    type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type } },
  };
}
