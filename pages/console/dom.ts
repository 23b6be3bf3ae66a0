import { visibleText } from '../../src/visible-text.ts';

/** What an element has beside its children: attributes by their names. */
type Attributes = Readonly<Record<string, string | number>>;

/** Makes an HTML element. Strings become text, whatever they contain: nothing here is read as HTML, or turns other text around. */
export function html<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  return fill(document.createElement(name), attributes, children);
}

/** Makes an SVG element. */
export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Node[]
): SVGElementTagNameMap[Name] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill<Made extends Element>(
  element: Made,
  attributes: Attributes,
  children: readonly (Node | string)[],
): Made {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...shown(children));
  return element;
}

/** Replaces the children of an element. */
export function refill(element: Element, children: readonly (Node | string)[]): void {
  element.replaceChildren(...shown(children));
}

function shown(children: readonly (Node | string)[]): (Node | string)[] {
  return children.map((each) => (typeof each === 'string' ? visibleText(each) : each));
}

/** The element of the document with this id. @throws Error where the document has none */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The document has no #${id}.`);
  return element;
}

/** Changes a text only where it differs: what stays is not laid out again, and a selection in it holds. */
export function setText(node: Element, words: string): void {
  const text = visibleText(words);
  if (node.textContent === text) return;
  const { firstChild } = node;
  if (firstChild instanceof Text && !firstChild.nextSibling) firstChild.data = text;
  else node.textContent = text;
}

/** Changes an attribute only where it differs; `null` takes it away. */
export function setAttribute(element: Element, name: string, value: string | number | null): void {
  const text = value === null ? null : visibleText(String(value));
  if (text === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** A child that stands for one thing as long as that is there. */
export interface Keyed<Item> {
  readonly node: Element;
  update(item: Item): void;
}

/**
 * Keeps the children of an element those of a list. A thing that stays keeps its node, so that hover, selection and
 * scrolling do; things with the same key are distinguished by their order.
 */
export function keyedChildren<Item>(
  parent: Element,
  keyOf: (item: Item) => string,
  make: () => Keyed<Item>,
): (items: readonly Item[]) => void {
  let held = new Map<string, Keyed<Item>>();
  return (items) => {
    const next = new Map<string, Keyed<Item>>();
    for (const item of items) {
      const key = freeKey(keyOf(item), next);
      const child = held.get(key) ?? make();
      child.update(item);
      next.set(key, child);
    }
    for (const [key, { node }] of held) if (!next.has(key)) node.remove();
    let place = parent.firstElementChild;
    for (const { node } of next.values()) {
      if (node === place) place = place.nextElementSibling;
      else parent.insertBefore(node, place);
    }
    held = next;
  };
}

function freeKey(key: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(key)) return key;
  let ordinal = 2;
  while (taken.has(`${key}\n${ordinal}`)) ordinal += 1;
  return `${key}\n${ordinal}`;
}
