import type { Item } from './item.ts';

interface ItemFilter {
  readonly search?: string | null | undefined;
  readonly category?: string | null | undefined;
  readonly tag?: string | null | undefined;
}

/**
 * Creates a predicate for items, because the upstream cannot filter. A blank or absent member matches every item;
 * `undefined` if all are. No upstream request.
 */
export function matchItem({
  search,
  category,
  tag,
}: ItemFilter): ((item: Item) => boolean) | undefined {
  const words = fold(search).split(/\s+/).filter(Boolean);
  const wantedCategory = fold(category);
  const wantedTag = fold(tag);
  if (words.length === 0 && !wantedCategory && !wantedTag) return undefined;
  return (item) => {
    const place = [fold(item.category), fold(item.subCategory)];
    if (wantedCategory && !place.includes(wantedCategory)) return false;
    const tags = item.tags.map(fold);
    if (wantedTag && !tags.includes(wantedTag)) return false;
    const text = [fold(item.name), fold(item.description), ...place, ...tags].join('\n');
    return words.every((word) => text.includes(word));
  };
}

function fold(text: string | null | undefined): string {
  return text?.trim().normalize('NFKC').toLowerCase() ?? '';
}
