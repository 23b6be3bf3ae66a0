/** A text as searches and filters compare it: without case, and without differences that are not visible. */
export function fold(text: string | null | undefined): string {
  return text?.trim().normalize('NFKC').toLowerCase() ?? '';
}

/**
 * A text as it is sorted: also without accents, so that `É` is next to `e`. It depends on no locale, so that all
 * machines sort alike.
 */
export function sortKey(text: string): string {
  return fold(text)
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '');
}
