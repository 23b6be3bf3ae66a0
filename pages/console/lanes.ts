import type { SlotOwner } from '../../src/console/console-state.ts';
import { html, svg } from '../dom.ts';

/** How an owner of slots is shown: by a colour, and by a shape for viewers who cannot distinguish colours. */
interface Look {
  /** Of one of it. */
  readonly word: string;
  /** Drawn around 0, 0 in a square of 10. */
  readonly shape: string;
}

/** In the order in which they stand everywhere. */
export const looks: Readonly<Record<SlotOwner, Look>> = {
  write: { word: 'write', shape: 'M-4-4h8v8h-8z' },
  interactive: { word: 'read', shape: 'M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z' },
  refresh: { word: 'refresh', shape: 'M0-5L5 4H-5z' },
  // Of jobs, and of classes without weight.
  bulk: { word: 'bulk', shape: 'M-5-4H5v3H-5zM-5 1H5v3H-5z' },
  'co-tenant': { word: 'co-tenant', shape: 'M0-5.5L5.5 0L0 5.5L-5.5 0z' },
  // Which may also be one that ran before this one.
  before: { word: 'earlier process', shape: 'M-5-1.7h3.3V-5h3.4v3.3H5v3.4H1.7V5h-3.4V1.7H-5z' },
};

/** All owners, in the order in which they stand everywhere. */
export const owners = Object.keys(looks) as readonly SlotOwner[];

/** The mark of an owner with a word beside it. The mark says nothing to a screen reader. */
export function ownerLabel(owner: SlotOwner, word: string = looks[owner].word): HTMLElement {
  const mark = { class: `mark ${owner}`, viewBox: '-6 -6 12 12', 'aria-hidden': 'true' };
  const path = svg('path', { d: looks[owner].shape });
  return html('span', { class: 'owner' }, svg('svg', mark, path), html('span', {}, word));
}
