import {
  type ASTVisitor,
  type DocumentNode,
  type FieldNode,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInputObjectType,
  isInterfaceType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  type SelectionNode,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { BadUserInput } from '../../errors.ts';
import type { JobOperation } from '../job-operations.ts';

/** Response names that changes add to each field of a mutation. No alias of a caller begins like these. */
export const addedToChanges = {
  /** The type of the result. */
  type: '__result',
  /** The message of a refusal. */
  message: '__message',
  /** The validation errors of an invalid input. */
  issues: '__issues',
} as const;

/** A mutation as a job executes it for each line: its results say whether it was refused, and why. */
export interface ChangesDocument extends JobOperation {
  /** The name of its first field, such as `createPixel`; those of fragments follow its own. */
  readonly name: string;
  /** The names of its variables. */
  readonly variables: ReadonlySet<string>;
  /** The names of the types of results that say why nothing was changed. */
  readonly refusals: ReadonlySet<string>;
}

/** Directives that a job cannot have, with the reason. */
const REFUSED_DIRECTIVES: Readonly<Record<string, string>> = {
  defer: 'A job writes whole results.',
  stream: 'A job writes whole results.',
  live: 'A job executes each line once.',
  idempotent: 'A job has a key for each line.',
};

/**
 * Converts a valid mutation into one that is executed for each line of a job. No upstream request.
 * @throws BadUserInput `BAD_USER_INPUT` for an operation that a job cannot execute, with the reason.
 */
export function changesDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): ChangesDocument {
  if (operation.operation !== OperationTypeNode.MUTATION) {
    throw new BadUserInput('Changes need a mutation. Use "startExport" for a query.');
  }
  const { variableDefinitions = [] } = operation;
  for (const { type, variable } of variableDefinitions) {
    const name = variable.name.value;
    const input = typeFromAST(schema, type) as GraphQLInputType | undefined;
    if (name.startsWith('__')) throw new BadUserInput(`"$${name}" must not begin with "__".`);
    if (input && canHaveFile(input)) {
      throw new BadUserInput(`"$${name}" has a file, which a line cannot contain.`);
    }
  }
  const own: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: document.definitions.filter(
      (each) => each === operation || each.kind === Kind.FRAGMENT_DEFINITION,
    ),
  };
  const info = new TypeInfo(schema);
  const { fields, visitor } = rewriting(schema, info);
  const rewritten: DocumentNode = visit(own, visitWithTypeInfo(info, visitor));
  const [name] = fields;
  if (name === undefined)
    throw new BadUserInput('The mutation has no field that changes something.');
  return {
    document: rewritten,
    operation: rewritten.definitions.find(isOperation) as OperationDefinitionNode,
    name,
    variables: new Set(variableDefinitions.map(({ variable }) => variable.name.value)),
    refusals: refusalsOf(schema),
  };
}

/** Checks all nodes of a document, and adds to the fields of the mutation; `fields` collects their names. */
function rewriting(schema: GraphQLSchema, info: TypeInfo) {
  const fields = new Set<string>();
  const mutation = schema.getMutationType();
  const visitor: ASTVisitor = {
    Directive({ name: { value } }) {
      const reason = REFUSED_DIRECTIVES[value];
      if (reason) throw new BadUserInput(`Changes cannot have the directive @${value}. ${reason}`);
    },
    Field: {
      enter({ alias, name: { value } }) {
        if (alias?.value.startsWith('__')) {
          throw new BadUserInput(`The alias "${alias.value}" must not begin with "__".`);
        }
        const definition = info.getFieldDef();
        if (definition?.extensions['returnsSecret'] === true) {
          throw new BadUserInput(`"${value}" returns a secret, which a job does not store.`);
        }
        if (info.getParentType() !== mutation || !definition || value.startsWith('__')) return;
        if (namesOf(schema, definition.type).includes('Job')) {
          throw new BadUserInput(`"${value}" starts or changes a job. A job cannot do that.`);
        }
        fields.add(value);
      },
      leave(node): FieldNode | undefined {
        const type = info.getFieldDef()?.type;
        const { selectionSet } = node;
        if (info.getParentType() !== mutation || !type || !selectionSet) return undefined;
        const selections = [...selectionSet.selections, ...additionsTo(schema, type)];
        return { ...node, selectionSet: { ...selectionSet, selections } };
      },
    },
  };
  return { fields, visitor };
}

/** What says whether a result is a refusal, and why. */
function additionsTo(schema: GraphQLSchema, type: GraphQLOutputType): readonly SelectionNode[] {
  const { issues, message, type: result } = addedToChanges;
  const names = namesOf(schema, type);
  const refusals = [...refusalsOf(schema)].filter((each) => names.includes(each));
  const texts = [
    `${result}: __typename`,
    ...refusals.map((each) => `... on ${each} { ${message}: message }`),
    ...refusals
      .filter((each) => each === INVALID_INPUT)
      .map((each) => `... on ${each} { ${issues}: issues { path code params message } }`),
  ];
  const [read] = parse(`{ ${texts.join(' ')} }`, { noLocation: true }).definitions;
  return read?.kind === Kind.OPERATION_DEFINITION ? read.selectionSet.selections : [];
}

/** The type of an invalid input, which is the only one with validation errors. */
export const INVALID_INPUT = 'InvalidInput';

/** The types that implement `Error`. */
function refusalsOf(schema: GraphQLSchema): ReadonlySet<string> {
  const error = schema.getType('Error');
  const types = isInterfaceType(error) ? schema.getPossibleTypes(error) : [];
  return new Set(types.map(({ name }) => name));
}

/** The names of the types that a value of a type can have. */
function namesOf(schema: GraphQLSchema, type: GraphQLOutputType): string[] {
  const named = getNamedType(type);
  const types = isAbstractType(named) ? schema.getPossibleTypes(named) : [named];
  return types.map(({ name }) => name);
}

function canHaveFile(type: GraphQLInputType, around: ReadonlySet<unknown> = new Set()): boolean {
  const named = getNamedType(type);
  if (named.name === 'Upload') return true;
  if (!isInputObjectType(named) || around.has(named)) return false;
  const within = new Set([...around, named]);
  return Object.values(named.getFields()).some((member) => canHaveFile(member.type, within));
}

function isOperation({ kind }: DocumentNode['definitions'][number]): boolean {
  return kind === Kind.OPERATION_DEFINITION;
}
