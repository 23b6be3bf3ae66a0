import {
  type DocumentNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  separateOperations,
} from 'graphql';
import { withoutParts } from './delivery.ts';

/** The part of a request that a live query keeps: all that its results depend on, and nothing else. */
export interface LiveOperation {
  /** The operation and the fragments that it uses, printed: parsed again for each run, as a tree takes 50 times as much. */
  readonly text: string;
  /** The variables that the operation declares, as they were given. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Both as one text: equal for two requests with equal results. */
  readonly key: string;
}

/** Extracts the inputs of a live query from a request, without comments, other operations and undeclared variables. */
export function liveOperationOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): LiveOperation {
  const others = document.definitions.filter(({ kind }) => kind !== Kind.OPERATION_DEFINITION);
  const all: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...others] };
  const [used = all] = Object.values(separateOperations(all));
  const text = copyOf(print(withoutParts(used)));
  const declared = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
  const names = declared.filter((name) => Object.hasOwn(given, name));
  // As JSON and back: a value may be a part of something larger.
  const json = JSON.stringify(names.map((name) => [name, given[name]]));
  const variables = Object.fromEntries(JSON.parse(json) as [string, unknown][]);
  return { text, variables, key: JSON.stringify([text, json]) };
}

/** The tree of an operation that is run. Its errors name no places in a text that no caller has sent. */
export function documentOf({ text }: Pick<LiveOperation, 'text'>): DocumentNode {
  return parse(text, { noLocation: true });
}

/** A part of a text, or a text that is made of parts, would keep all of the whole in memory. */
function copyOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
