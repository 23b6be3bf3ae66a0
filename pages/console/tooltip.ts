import { html, refill } from './dom.ts';

/** The one box with details of what is pointed at. */
export class Tooltip {
  readonly #box = html('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: '' });

  constructor() {
    document.body.append(this.#box);
  }

  /** Shows it above a point of the window, or below where there is no room, and never beyond the edges. */
  show(x: number, y: number, content: readonly (Node | string)[]): void {
    const box = this.#box;
    refill(box, content);
    box.hidden = false;
    const { offsetHeight: height, offsetWidth: width } = box;
    const left = Math.max(
      8,
      Math.min(x - width / 2, document.documentElement.clientWidth - width - 8),
    );
    const above = y - height - 12;
    box.style.transform = `translate(${Math.round(left)}px, ${Math.round(above > 8 ? above : y + 20)}px)`;
  }

  /** Takes it away. */
  hide(): void {
    this.#box.hidden = true;
  }
}
