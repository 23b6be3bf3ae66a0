/** Control characters but tabs and ends of lines, and those that turn the text around them. */
const UNSEEN = /(?![\t\n])\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * A text as a person must see it to decide by it, such as a name that anybody can choose: what would change how the
 * rest is read is escaped, such as U+202E as `\u202e`.
 */
export function visibleText(text: string): string {
  return text.replace(
    UNSEEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
