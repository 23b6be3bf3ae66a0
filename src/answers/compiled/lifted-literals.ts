import {
  BREAK,
  type DocumentNode,
  GraphQLFloat,
  GraphQLID,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLString,
  getNullableType,
  type IntValueNode,
  Kind,
  parseType,
  print,
  type StringValueNode,
  TypeInfo,
  type VariableDefinitionNode,
  type VariableNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { ReadQuery } from './read-text.ts';

/** A query whose literals are replaced by variables. */
export interface LiftedText {
  readonly text: string;
  /** The values of those variables, by the literals of a text of the same shape. See `TextShape`. */
  readonly valuesOf: (literals: readonly string[]) => Readonly<Record<string, unknown>>;
}

/** The value of a literal. */
type Reading = (literal: string) => unknown;

const unquoted: Reading = (literal) => literal.slice(1, -1);

/**
 * Replaces each integer and string of a query by a variable; `null` if the type of one accepts different values as
 * literal and as variable. Its reader checks whether the text is valid.
 */
export function liftLiterals({ schema, document, operation }: ReadQuery): LiftedText | null {
  const types = new TypeInfo(schema);
  const readings: Reading[] = [];
  const definitions: VariableDefinitionNode[] = [];
  let fits = true;
  const lift = (node: IntValueNode | StringValueNode): unknown => {
    const type = types.getInputType();
    const reading = type ? readingOf(node.kind, type) : null;
    fits = reading !== null;
    if (!type || !reading) return BREAK;
    const variable: VariableNode = {
      kind: Kind.VARIABLE,
      name: { kind: Kind.NAME, value: nameOf(readings.length) },
    };
    readings.push(reading);
    definitions.push({ kind: Kind.VARIABLE_DEFINITION, variable, type: parseType(String(type)) });
    return variable;
  };
  const visitor = visitWithTypeInfo(types, { IntValue: lift, StringValue: lift });
  const lifted: DocumentNode = visit(document, visitor);
  if (!fits) return null;
  const text = lifted.definitions
    .map((each) => {
      if (each.kind !== Kind.OPERATION_DEFINITION) return print(each);
      const variableDefinitions = [...(operation.variableDefinitions ?? []), ...definitions];
      return print({ ...each, variableDefinitions });
    })
    .join('\n');
  const valuesOf: LiftedText['valuesOf'] = (literals) =>
    Object.fromEntries(readings.map((read, nth) => [nameOf(nth), read(literals[nth] ?? '')]));
  return { text, valuesOf };
}

/** How a literal is parsed for a type; `null` if a variable with that value could have another meaning. */
function readingOf(kind: Kind.INT | Kind.STRING, type: GraphQLInputType): Reading | null {
  const of = getNullableType(type);
  if (kind === Kind.STRING) return of === GraphQLString || of === GraphQLID ? unquoted : null;
  // As a number, a long one would lose digits.
  if (of === GraphQLID) return String;
  return of === GraphQLInt || of === GraphQLFloat ? Number : null;
}

function nameOf(nth: number): string {
  return `literal_${nth}`;
}
