import { html } from '../dom.ts';

const box = html('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: '' });
let told: Element | null = null;

/** Tells the `data-tip` of an element above it, below it where there is no room, and never beyond the edges. */
export function tell(element: Element | null): void {
  told = element;
  const text = element?.isConnected ? element.getAttribute('data-tip') : null;
  box.hidden = !text;
  if (!element || !text) return;
  box.textContent = text;
  const { bottom, left, top, width } = element.getBoundingClientRect();
  const { offsetHeight, offsetWidth } = box;
  const most = document.documentElement.clientWidth - offsetWidth - 8;
  const x = Math.max(8, Math.min(left + (width - offsetWidth) / 2, most));
  const y = top - offsetHeight - 8;
  box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y > 8 ? y : bottom + 8)}px)`;
}

/** Tells what became of that which is pointed at. */
export function retell(): void {
  tell(told);
}

/** Tells of what is pointed at, as long as the page is open. */
export function startTelling(): void {
  document.body.append(box);
  document.addEventListener('pointerover', ({ target }) => {
    tell((target as Element).closest('[data-tip]'));
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') tell(null);
  });
}
