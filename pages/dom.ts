import { visibleText } from '../src/visible-text.ts';

/** What an element can contain; `null` is nothing. */
export type Child = Node | string | null | readonly Child[];

/** Attributes by name; those that are `null` are left out. */
type Attributes = Readonly<Record<string, string | number | null>>;

/** Makes an HTML element. Strings become text, whatever they contain: nothing is read as HTML, or turns other text around. */
export function html<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  return filled(document.createElement(name), attributes, children);
}

/** Makes an SVG element. */
export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Name] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

/** Text with a class, unless that is empty. */
export function span(className: string, ...children: readonly Child[]): HTMLElement {
  return html('span', { class: className || null }, ...children);
}

function filled<Made extends Element>(
  element: Made,
  attributes: Attributes,
  children: readonly Child[],
): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(name, visibleText(String(value)));
  }
  element.append(...nodesOf(children));
  return element;
}

function nodesOf(child: Child): Node[] {
  if (child === null || child === '') return [];
  if (child instanceof Node) return [child];
  return typeof child === 'string'
    ? [document.createTextNode(visibleText(child))]
    : child.flatMap(nodesOf);
}

/** A button that does something and sends nothing. */
export function button(text: string, onClick: () => void): HTMLButtonElement {
  const element = html('button', { type: 'button', class: 'plain' }, text);
  element.addEventListener('click', onClick);
  return element;
}

/** The element of the document with this id. @throws Error where the document has none */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The document has no #${id}.`);
  return element;
}

/**
 * Makes these the children of an element. What is there already stays, so that hover, focus, selection and scrolling do:
 * elements are recognized by `data-key`, those without one by their order.
 */
export function show(parent: Element, ...children: readonly Child[]): void {
  const old = [...parent.childNodes];
  const kept = new Set<Node>();
  const nodes = nodesOf(children).map((node) => {
    const known = old.find((each) => !kept.has(each) && isSame(each, node));
    if (!known) return node;
    kept.add(known);
    if (known instanceof Text) known.data = node.textContent ?? '';
    else if (!known.isEqualNode(node)) change(known as Element, node as Element);
    return known;
  });
  for (const node of old) if (!kept.has(node)) node.remove();
  for (const [index, node] of nodes.entries()) {
    const place = parent.childNodes[index] ?? null;
    if (place !== node) parent.insertBefore(node, place);
  }
}

function change(element: Element, next: Element): void {
  for (const name of element.getAttributeNames()) {
    if (!next.hasAttribute(name)) element.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) element.setAttribute(name, value);
  show(element, [...next.childNodes]);
}

function isSame(one: Node, other: Node): boolean {
  return one.nodeName === other.nodeName && keyOf(one) === keyOf(other);
}

function keyOf(node: Node): string | null {
  return node instanceof Element ? node.getAttribute('data-key') : null;
}
