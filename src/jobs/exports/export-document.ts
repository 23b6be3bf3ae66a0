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
  type VariableDefinitionNode,
} from 'graphql';
import { BadUserInput } from '../../errors.ts';

/** Response names that an export adds to a query. No name of a query begins like these. */
export const added = {
  /** The rows of a connection. */
  rows: '__rows',
  /** Their cursors. */
  cursors: '__cursors',
  /** Followed by the number of the connection: its page info. */
  page: '__page',
  /** The number of rows of the first connection. */
  total: '__total',
  /** The id of an object with a connection. */
  id: '__id',
} as const;

/** A connection that is walked to its end. */
interface WalkedConnection {
  /** The connection whose rows contain it; `null` for the first one. */
  readonly within: number | null;
  /** Number of connections around it. */
  readonly depth: number;
  /** The response names from a row of `within` to it, for the lines of its rows. */
  readonly path: readonly string[];
}

/** A query as an export executes it: each of its connections has variables for the window that is read next. */
export interface ExportDocument {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** The response name of the first connection. */
  readonly root: string;
  /** The name of its field. */
  readonly list: string;
  /** In the order of the document, the first one first. */
  readonly connections: readonly [WalkedConnection, ...WalkedConnection[]];
  /** The selection of a row of the first connection, and its type. */
  readonly row: { readonly type: GraphQLCompositeType; readonly selections: SelectionSetNode };
}

/** The names of the variables for the window of a connection. */
export function windowVariables(connection: number): { readonly first: string; after: string } {
  return { first: `__first${connection}`, after: `__after${connection}` };
}

/** Arguments by which a caller limits a connection: it is not walked then, but returned within its row. */
const WINDOW = ['first', 'last', 'after', 'before', 'offset'];
/** Directives that change how a response is delivered. */
const DELIVERY = ['defer', 'stream', 'live'];
/** Connections of one query: each has two variables. */
const MOST_CONNECTIONS = 20;

/**
 * Converts a valid query with one connection at its root into one that can be executed window by window. No upstream
 * request.
 * @throws BadUserInput `BAD_USER_INPUT` for a query that cannot be exported, with the reason.
 */
export function exportDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): ExportDocument {
  const type = schema.getQueryType();
  if (operation.operation !== OperationTypeNode.QUERY || !type) {
    throw new BadUserInput('An export needs a query, not a mutation.');
  }
  const rewriting = new Rewriting(schema, document);
  rewriting.refuseDelivery(operation);
  const [field, ...others] = rewriting.fieldsOf(operation.selectionSet, 'the query');
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
  if (isWindowed(field)) {
    throw new BadUserInput(
      `An export reads all of "${field.name.value}". Remove ${WINDOW.map((name) => `"${name}"`).join(', ')}.`,
    );
  }
  const { row, rewritten } = rewriting.connection(field, definition, { within: null, path: [] });
  const variableDefinitions = [
    ...(operation.variableDefinitions ?? []),
    ...rewriting.connections.flatMap((_, index) => variablesOf(index)),
  ];
  const own: OperationDefinitionNode = {
    ...operation,
    variableDefinitions,
    selectionSet: { kind: Kind.SELECTION_SET, selections: [rewritten] },
  };
  return {
    document: { kind: Kind.DOCUMENT, definitions: [own] },
    operation: own,
    root: responseName(field),
    list: field.name.value,
    connections: rewriting.connections as unknown as ExportDocument['connections'],
    row,
  };
}

/** Where a selection is: the connection whose rows contain it, and the response names from such a row. */
interface Place {
  readonly within: number | null;
  readonly path: readonly string[];
  /** The list around it that is not walked, if there is one: its rows cannot be told apart later. */
  readonly inList?: string;
}

class Rewriting {
  readonly connections: WalkedConnection[] = [];
  readonly #schema: GraphQLSchema;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();

  constructor(schema: GraphQLSchema, { definitions }: DocumentNode) {
    this.#schema = schema;
    for (const each of definitions) {
      if (each.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(each.name.value, each);
    }
  }

  /** @throws BadUserInput */
  refuseDelivery({ directives = [] }: { readonly directives?: FieldNode['directives'] }): void {
    const found = directives.find(({ name }) => DELIVERY.includes(name.value));
    if (found) throw new BadUserInput(`An export cannot have the directive @${found.name.value}.`);
  }

  /** The fields of a selection, including those of its fragments. */
  fieldsOf({ selections }: SelectionSetNode, where: string): FieldNode[] {
    return selections.flatMap((each): FieldNode[] => {
      this.refuseDelivery(each);
      if (each.kind === Kind.FIELD) return [each];
      if (each.directives?.length) {
        throw new BadUserInput(`A fragment of ${where} cannot have directives in an export.`);
      }
      return this.fieldsOf(this.#contentOf(each).selectionSet, where);
    });
  }

  /** A connection with its rows, cursors and page info, and variables for its window. */
  connection(
    field: FieldNode,
    definition: GraphQLField<unknown, unknown>,
    { within, path }: Place,
  ): { readonly rewritten: FieldNode; readonly row: ExportDocument['row'] } {
    const index = this.connections.length;
    if (index >= MOST_CONNECTIONS) {
      throw new BadUserInput(`An export can have at most ${MOST_CONNECTIONS} lists.`);
    }
    const around = within === null ? -1 : (this.connections[within]?.depth ?? 0);
    this.connections.push({ within, path, depth: around + 1 });
    const selected = this.#rowsOf(field);
    const type = rowTypeOf(definition);
    const selections = this.#selections(type, selected, { within: index, path: [] });
    const { first, after } = windowVariables(index);
    const rewritten: FieldNode = {
      ...field,
      arguments: [
        ...(field.arguments ?? []),
        argumentOf('first', first),
        argumentOf('after', after),
      ],
      selectionSet: selectionOf([
        fieldOf('nodes', added.rows, selections.selections),
        fieldOf('edges', added.cursors, [fieldOf('cursor')]),
        fieldOf('pageInfo', `${added.page}${index}`, [fieldOf('hasNextPage')]),
        ...(index === 0 ? [fieldOf('totalCount', added.total)] : []),
      ]),
    };
    return { rewritten, row: { type, selections } };
  }

  /** What a connection selects of its rows, by `nodes` or by `edges`. */
  #rowsOf(field: FieldNode): SelectionSetNode {
    const name = `"${responseName(field)}"`;
    const own = field.selectionSet ? this.fieldsOf(field.selectionSet, name) : [];
    const nodes = own.filter(({ name: { value } }) => value === 'nodes');
    const edges = own.filter(({ name: { value } }) => value === 'edges');
    if (nodes.length > 0 && edges.length > 0) {
      throw new BadUserInput(`Select "nodes" or "edges" of ${name}, not both.`);
    }
    const ofEdges = edges.flatMap((edge) =>
      edge.selectionSet ? this.fieldsOf(edge.selectionSet, name) : [],
    );
    const rows = [...nodes, ...ofEdges.filter(({ name: { value } }) => value === 'node')];
    if (rows.length === 0) {
      throw new BadUserInput(`Select "nodes" of ${name}: each of them becomes a line.`);
    }
    if ([...nodes, ...edges, ...rows].some(({ directives }) => directives?.length)) {
      throw new BadUserInput(`"nodes" of ${name} cannot have directives in an export.`);
    }
    return selectionOf(rows.flatMap(({ selectionSet }) => selectionSet?.selections ?? []));
  }

  /** The selections of an object: its fragments are inlined, and its connections are rewritten. */
  #selections(
    type: GraphQLCompositeType,
    { selections }: SelectionSetNode,
    place: Place,
  ): SelectionSetNode {
    return selectionOf(
      selections.flatMap((each): SelectionNode[] => {
        this.refuseDelivery(each);
        if (each.kind === Kind.FIELD) return this.#field(type, each, place);
        const content = this.#contentOf(each);
        const { typeCondition } = content;
        const named = typeCondition && this.#schema.getType(typeCondition.name.value);
        const own = named && isCompositeType(named) ? named : type;
        return [
          {
            kind: Kind.INLINE_FRAGMENT,
            ...(typeCondition && { typeCondition }),
            ...(each.directives && { directives: each.directives }),
            selectionSet: this.#selections(own, content.selectionSet, place),
          },
        ];
      }),
    );
  }

  #field(type: GraphQLCompositeType, field: FieldNode, place: Place): SelectionNode[] {
    const name = responseName(field);
    if (field.alias?.value.startsWith('__')) {
      throw new BadUserInput(`The alias "${name}" must not begin with "__".`);
    }
    const definition = fieldNamed(type, field.name.value);
    if (!definition || !field.selectionSet) return [field];
    const path = [...place.path, name];
    if (isConnection(definition) && !isWindowed(field)) {
      if (place.inList !== undefined) {
        throw new BadUserInput(
          `"${name}" is in the list "${place.inList}", which is not exported to its end. Add "first" to "${name}".`,
        );
      }
      if (!fieldNamed(type, 'id')) {
        throw new BadUserInput(`"${name}" cannot be exported: ${type.name} has no "id".`);
      }
      const { rewritten } = this.connection(field, definition, { within: place.within, path });
      return [fieldOf('id', added.id), rewritten];
    }
    const own = getNamedType(definition.type);
    if (!isCompositeType(own)) return [field];
    const isList = hasList(definition) || isConnection(definition);
    const inside: Place = { ...place, path, ...(isList ? { inList: name } : {}) };
    return [{ ...field, selectionSet: this.#selections(own, field.selectionSet, inside) }];
  }

  #contentOf(each: Exclude<SelectionNode, FieldNode>) {
    if (each.kind === Kind.INLINE_FRAGMENT) return each;
    const found = this.#fragments.get(each.name.value);
    if (!found) throw new TypeError(`the fragment ${each.name.value} is missing`);
    return found;
  }
}

function fieldNamed(
  type: GraphQLCompositeType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  return 'getFields' in type ? type.getFields()[name] : undefined;
}

/** Whether a field returns a connection of Relay. */
function isConnection({ args, type }: GraphQLField<unknown, unknown>): boolean {
  const named = getNamedType(type);
  if (!isObjectType(named) || !args.some(({ name }) => name === 'after')) return false;
  const fields = named.getFields();
  return 'nodes' in fields && 'edges' in fields && 'pageInfo' in fields;
}

function isWindowed({ arguments: given = [] }: FieldNode): boolean {
  return given.some(({ name }) => WINDOW.includes(name.value));
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

function variablesOf(connection: number): VariableDefinitionNode[] {
  const { first, after } = windowVariables(connection);
  return [variableOf(first, 'Int'), variableOf(after, 'String')];
}

function variableOf(name: string, type: string): VariableDefinitionNode {
  return {
    kind: Kind.VARIABLE_DEFINITION,
    variable: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } },
    type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type } },
  };
}
