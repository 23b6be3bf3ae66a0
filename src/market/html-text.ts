import { decodeText } from '../upstream/decode/fields.ts';

/** Characters of HTML that are converted: the rest of a longer text is left out. */
const MAX_HTML = 20_000;

/** Elements whose content is not text. */
const HIDDEN = new Set(['script', 'style', 'template', 'noscript', 'iframe', 'svg', 'head']);
/** Elements that are within a line. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code data del dfn em font i img ins kbd mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/** A tag, a comment or a declaration at this place; the text alone if none of them is complete. */
const markup = /<(?:(\/?)([a-z][a-z\d:-]{0,30})(?=[\s/>])[^<>]{0,5000}>|!--|![a-z[]|\?)/iy;

/**
 * The text of a piece of HTML: without tags, comments and scripts, entities decoded once, a line for each block, and
 * no more than one empty line between two. Not for display as HTML. Takes time in proportion to the length, of which
 * at most 20,000 characters are read: then the text ends with `…`.
 */
export function textOfHtml(html: string): string {
  const source = html.slice(0, MAX_HTML);
  const pieces: string[] = [];
  let at = 0;
  while (at < source.length) {
    const next = source.indexOf('<', at);
    const end = next < 0 ? source.length : next;
    if (end > at) pieces.push(source.slice(at, end).replace(/\s+/g, ' '));
    at = next < 0 ? source.length : afterMarkup(source, next, pieces);
  }
  const text = decodeText(pieces.join(''))
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  // A cut through the middle of an emoji would leave half a character behind.
  return html.length > MAX_HTML ? `${text.replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** The place after the markup at `at`; adds what it is in a text. */
function afterMarkup(source: string, at: number, pieces: string[]): number {
  markup.lastIndex = at;
  const [tag, closing, name] = markup.exec(source) ?? [];
  if (tag === undefined) {
    pieces.push('<');
    return at + 1;
  }
  if (name === undefined) return after(source, tag === '<!--' ? '-->' : '>', at);
  const element = name.toLowerCase();
  if (!INLINE.has(element) && !HIDDEN.has(element)) pieces.push('\n');
  const inside = at + tag.length;
  if (closing || !HIDDEN.has(element)) return inside;
  const rest = source.slice(inside).search(new RegExp(`</${element}`, 'i'));
  return rest < 0 ? source.length : inside + rest;
}

/** The place after the next `mark`; the end of the source if there is none. */
function after(source: string, mark: string, from: number): number {
  const found = source.indexOf(mark, from);
  return found < 0 ? source.length : found + mark.length;
}
