import {
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';
import { button, html, show, span } from '../../dom.ts';
import { sizeText } from '../../words.ts';

/** How deep in input objects a file is looked for. */
const MAX_DEPTH = 4;

/** The paths of the variables of an operation that take a file, such as `file` or `input.file`. */
export function uploadPaths(
  schema: GraphQLSchema | null | undefined,
  operation: OperationDefinitionNode | undefined,
): string[] {
  if (!schema || !operation) return [];
  return (operation.variableDefinitions ?? []).flatMap(({ type, variable }) =>
    pathsIn(typeFromAST(schema, type as never), variable.name.value, MAX_DEPTH),
  );
}

function pathsIn(type: unknown, path: string, depth: number): string[] {
  const bare = isNonNullType(type) ? type.ofType : type;
  // Which of a list it would be is for a program to say.
  if (!bare || isListType(bare) || depth === 0) return [];
  const named = getNamedType(bare as never) as unknown;
  if (isInputObjectType(named)) {
    return Object.values(named.getFields()).flatMap((field) =>
      pathsIn(field.type, `${path}.${field.name}`, depth - 1),
    );
  }
  return (named as { name: string }).name === 'Upload' ? [path] : [];
}

/** Lets a person choose a file for each variable that takes one. */
export class Files {
  readonly element = html('div', { class: 'files', hidden: '' });
  readonly #onChange: () => void;
  /** By tab and path. */
  readonly #chosen = new Map<string, File>();
  #shown = '';

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** What is chosen for these variables of a tab. */
  chosen(tab: string, paths: readonly string[]): Map<string, File> {
    return new Map(
      paths.flatMap((path) => {
        const file = this.#chosen.get(`${tab} ${path}`);
        return file ? [[path, file] as const] : [];
      }),
    );
  }

  /** Shows a field for each of these variables of a tab. */
  show(tab: string, paths: readonly string[]): void {
    const shown = [tab, ...paths].join(' ');
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.element.hidden = paths.length === 0;
    this.element.replaceChildren(...paths.map((path) => this.#row(tab, path)));
  }

  #row(tab: string, path: string): HTMLElement {
    const key = `${tab} ${path}`;
    const field = html('input', { type: 'file' });
    const text = span('file-name');
    const remove = button('Remove', () => {
      field.value = '';
      choose(undefined);
    });
    const draw = (): void => {
      const file = this.#chosen.get(key);
      show(text, file ? `${file.name}, ${sizeText(file.size)}` : 'no file chosen');
      remove.hidden = !file;
    };
    const choose = (file: File | undefined): void => {
      if (file) this.#chosen.set(key, file);
      else this.#chosen.delete(key);
      draw();
      this.#onChange();
    };
    field.addEventListener('change', () => choose(field.files?.[0]));
    draw();
    const variable = span('variable', `$${path}`);
    const label = html('label', { class: 'file' }, variable, 'Choose a file', field);
    return html('div', { class: 'row' }, label, text, remove);
  }
}
