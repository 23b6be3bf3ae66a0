import { decodeText } from '../upstream/decode/fields.ts';
import { parseUrl } from '../upstream/decode/url.ts';
import { slugOf } from './slug.ts';

/** How similar a value of a row is to the value that a write gave it. */
export type Likeness =
  | 'equal'
  /** An upstream that changes values in a way that is unknown may have made the one of the other. */
  | 'similar'
  | 'different';

/** Compares a value of a row to the one that a write gave it. */
export interface Comparison {
  /** Equal for values that an upstream may confuse, if the value says which row it is. */
  readonly key?: string;
  readonly compare: (seen: unknown) => Likeness;
}

/** Text columns are rarely shorter: a text of this length may be the start of a longer one. */
const SHORTEST_CUT = 50;
/** The same for a text that is shorter than its stored form: with entities, or in bytes. */
const SHORTEST_ESCAPED_CUT = 10;
/** Maximum length of the texts that are compared by their letters. */
const LONGEST_LETTERS = 1000;

/**
 * A text, or one of several from which the upstream chooses; `null` without one. Upstreams trim texts, store them with
 * or without HTML entities and cut them. Texts with the same letters and digits are similar, since an upstream can
 * remove tags, emojis or other characters.
 */
export function sameText(...given: readonly (string | null | undefined)[]): Comparison | null {
  const texts = given.filter((one) => one != null);
  const [first] = texts;
  if (first === undefined) return null;
  let forms: { readonly shown: readonly string[]; readonly letters: readonly string[] } | undefined;
  return {
    key: lettersOf(first.slice(0, LONGEST_LETTERS)).slice(0, SHORTEST_CUT),
    compare: (seen) => {
      if (typeof seen !== 'string') return 'different';
      // Only a lost response needs them.
      forms ??= { shown: texts.flatMap(shownForms), letters: texts.flatMap(possibleLetters) };
      const { shown, letters } = forms;
      const row = seen.trim();
      const start = withoutBrokenEnd(row);
      const isEqual = shown.some((one) => one === row || isStart(start, one, SHORTEST_CUT));
      if (isEqual) return 'equal';
      const isSimilar =
        row === '' ||
        shown.some((one) => one === '' || isStart(start, one, SHORTEST_ESCAPED_CUT)) ||
        [row, start].some((each) => hasLetters(lettersOf(each), letters));
      return isSimilar ? 'similar' : 'different';
    },
  };
}

/** An upstream that does not escape texts returns entities as they were sent, and the decoder replaces them. */
function shownForms(given: string): string[] {
  return [given.trim(), decodeText(given).trim()];
}

/** A text that was cut can end within an entity or a character, or in an ellipsis. */
function withoutBrokenEnd(text: string): string {
  return text.replace(/(?:&#?\w{0,8}|\p{Cs}|\uFFFD{1,4}|…|\.{3})$/u, '').trimEnd();
}

/** Whether a text is the start of another, of a length at which an API cuts texts. */
function isStart(start: string, whole: string, shortest: number): boolean {
  return start.length >= shortest && whole.startsWith(start);
}

function hasLetters(row: string, letters: readonly string[]): boolean {
  return letters.some((one) => one === row || isStart(row, one, SHORTEST_CUT));
}

/** The letters of a text as it is, without tags or what looks like one, and without what needs four bytes. */
function possibleLetters(given: string): string[] {
  return [
    given,
    given.replace(/<[^<>]*>/g, ''),
    given.replace(/<[^>]*(?:>|$)/g, ''),
    given.replace(/[\u{10000}-\u{10FFFF}]/gu, ''),
    given.replace(/[\u{10000}-\u{10FFFF}][^]*/u, ''),
  ].map(lettersOf);
}

/** Letters and digits of a text in lower case, without its entities. */
function lettersOf(given: string): string {
  // Sent escaped, and escaped twice by the upstream.
  return decodeText(decodeText(decodeText(given)))
    .slice(0, LONGEST_LETTERS)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/** A value of a fixed set, which an upstream stores as it is. */
export function sameValue(given: string): Comparison {
  return { compare: (seen) => (seen === given ? 'equal' : 'different') };
}

/** An option. Another value is similar, since an upstream can ignore an option at creation. */
export function sameFlag(given: boolean | null | undefined): Comparison | null {
  return given == null ? null : option(given, (seen) => seen);
}

/** A color as HEX digits, short or long. As `sameFlag`. */
export function sameColor(given: string | null | undefined): Comparison | null {
  return given == null ? null : option(longHex(given), longHex);
}

function option(given: unknown, normal: (seen: unknown) => unknown): Comparison {
  return { compare: (seen) => (normal(seen) === given ? 'equal' : 'similar') };
}

/** `#abc` as `#aabbcc`. */
function longHex(color: unknown): string {
  const digits = String(color).trim().replace(/^#/, '').toLowerCase();
  return digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
}

/** An email address, not case-sensitive. */
export function sameEmail(given: string): Comparison {
  const key = given.trim().toLowerCase();
  return { key, compare: equalIf((seen) => seen.trim().toLowerCase() === key) };
}

/** The host of a URL, with or without its scheme. */
export function sameHost(given: string): Comparison {
  const key = hostOf(given);
  return { key, compare: equalIf((seen) => hostOf(seen) === key) };
}

function hostOf(url: string): string {
  return parseUrl(/^https?:/i.test(url) ? url : `https://${url}`)?.host ?? url;
}

/** The last part of a URL. Upstreams convert it to lower case and hyphens, and other letters in unknown ways. */
export function sameSlug(given: string | null | undefined): Comparison | null {
  if (given == null) return null;
  const key = plainSlug(given);
  const isPlain = /^[\w-]*[a-z0-9][\w-]*$/i.test(given);
  const isEqual = equalIf((url) => key !== '' && plainSlug(slugOf(url) ?? '') === key);
  return {
    key,
    compare: (seen) => (isEqual(seen) === 'different' && !isPlain ? 'similar' : isEqual(seen)),
  };
}

function plainSlug(given: string): string {
  return given
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}

function equalIf(isEqual: (seen: string) => boolean): Comparison['compare'] {
  return (seen) => (typeof seen === 'string' && isEqual(seen) ? 'equal' : 'different');
}
