import { visibleText } from '../../src/visible-text.ts';

/** Makes an element with a class, and puts text or other elements into it. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className = '',
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children.map((each) => (typeof each === 'string' ? visibleText(each) : each)));
  return element;
}

/** A button that does something and sends nothing. */
export function button(className: string, text: string, onClick: () => void): HTMLButtonElement {
  const element = make('button', className, text);
  element.type = 'button';
  element.addEventListener('click', onClick);
  return element;
}

/**
 * The element of the page with an id.
 * @throws TypeError when there is none of this kind, which is a fault of the page.
 */
export function byId<Kind extends HTMLElement = HTMLElement>(
  id: string,
  kind?: new () => Kind,
): Kind;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`There is no such #${id}`);
  return element;
}
