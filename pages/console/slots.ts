import type { SlotOwner, SlotState, UpstreamState } from '../../src/console/console-state.ts';
import { html, setAttribute, svg } from './dom.ts';
import { looks, ownerMark, owners } from './lanes.ts';
import type { Tooltip } from './tooltip.ts';
import { counted, inTime } from './words.ts';

/** More are not sent, and would be too small to see. */
const MOST = 120;

/** The window of an upstream as its slots, the next to be free first: each that is taken is a ring that empties. */
export class Slots {
  /** What stands in the card. */
  readonly node = html('div', { class: 'slots', role: 'img' });
  /** Whom the slots went to, in words. */
  readonly legend = html('ul', { class: 'legend' });
  readonly #tooltip: Tooltip;
  readonly #cells: Cell[] = [];
  readonly #counts = new Map<SlotOwner | 'free', { node: HTMLElement; number: HTMLElement }>();
  #pointed: Element | null = null;

  constructor(tooltip: Tooltip) {
    this.#tooltip = tooltip;
    this.node.addEventListener('pointerover', ({ target }) => this.#point(target as Element));
    this.node.addEventListener('pointerleave', () => {
      this.#pointed = null;
      tooltip.hide();
    });
    for (const owner of [...owners, 'free'] as const) {
      const number = html('b');
      const mark = owner === 'free' ? html('span', { class: 'mark free' }) : ownerMark(owner);
      const word = owner === 'free' ? 'free' : looks[owner].word;
      const node = html('li', {}, mark, html('span', {}, word), number);
      this.#counts.set(owner, { node, number });
      this.legend.append(node);
    }
  }

  update(upstream: UpstreamState): void {
    const { limit, slots, windowMs } = upstream;
    const size = Math.min(MOST, Math.max(limit, slots.length));
    while (this.#cells.length < size) this.#add();
    while (this.#cells.length > size) this.#cells.pop()?.node.remove();
    this.node.classList.toggle('more', size > 30 && size <= 60);
    this.node.classList.toggle('many', size > 60);
    for (const [index, cell] of this.#cells.entries()) cell.draw(slots[index] ?? null, windowMs);
    this.#tellCounts(upstream);
    this.#point(this.#pointed);
  }

  #add(): void {
    const cell = new Cell();
    this.#cells.push(cell);
    this.node.append(cell.node);
  }

  #tellCounts({ free, limit, slots }: UpstreamState): void {
    const numbers = new Map<SlotOwner | 'free', number>([['free', free]]);
    for (const { owner } of slots) numbers.set(owner, (numbers.get(owner) ?? 0) + 1);
    for (const [owner, { node, number }] of this.#counts) {
      const times = numbers.get(owner) ?? 0;
      // Those that not everyone has stand there only when they are.
      node.hidden = times === 0 && isOptional(owner);
      node.classList.toggle('none', times === 0);
      number.textContent = String(times);
    }
    const by = owners
      .filter((owner) => numbers.has(owner))
      .map((owner) => counted(numbers.get(owner) ?? 0, looks[owner].word, plural(owner)));
    const whose = by.length > 0 ? `: ${by.join(', ')}` : '';
    setAttribute(this.node, 'aria-label', `${limit - free} of ${limit} slots are taken${whose}.`);
  }

  #point(target: Element | null): void {
    const node = target?.closest('.slot') ?? null;
    const cell = this.#cells.find((each) => each.node === node);
    this.#pointed = node;
    if (!cell) return;
    const { left, top, width } = cell.node.getBoundingClientRect();
    this.#tooltip.show(left + width / 2, top, [cell.words()]);
  }
}

class Cell {
  readonly node = svg('svg', { class: 'slot', viewBox: '0 0 32 32' });
  #held: SlotState | null = null;
  readonly #arc = svg('circle', { class: 'arc', cx: 16, cy: 16, r: 13, pathLength: 100 });
  readonly #shape = svg('path', { class: 'shape', transform: 'translate(16 16)' });

  constructor() {
    this.node.append(svg('circle', { class: 'track', cx: 16, cy: 16, r: 13 }));
    this.node.append(this.#arc, this.#shape);
  }

  draw(held: SlotState | null, windowMs: number): void {
    this.#held = held;
    const state = !held ? 'free' : held.freeInMs === null ? 'wire' : 'spent';
    setAttribute(this.node, 'class', `slot ${state} ${held?.owner ?? ''}`);
    if (!held) return;
    const left = held.freeInMs === null ? 100 : (100 * held.freeInMs) / windowMs;
    setAttribute(this.#arc, 'stroke-dasharray', `${Math.min(100, left).toFixed(1)} 100`);
    setAttribute(this.#shape, 'd', looks[held.owner].shape);
  }

  words(): string {
    const held = this.#held;
    if (!held) return 'Free';
    const when = held.freeInMs === null ? 'in flight' : `free ${inTime(held.freeInMs)}`;
    return [looks[held.owner].word, held.resource, when].filter(Boolean).join(' · ');
  }
}

function isOptional(owner: SlotOwner | 'free'): boolean {
  return owner === 'bulk' || owner === 'co-tenant' || owner === 'replica';
}

function plural(owner: SlotOwner): string {
  const { word } = looks[owner];
  return word.endsWith('s') || word.endsWith('sh') ? `${word}es` : `${word}s`;
}
