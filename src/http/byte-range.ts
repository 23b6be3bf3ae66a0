/** A part of a file: its first byte and the one behind its last, in bytes. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** One range. A list of ranges is answered with the whole, as any other value. */
const RANGE = /^bytes=\s*(\d*)-(\d*)\s*$/i;

/**
 * The part that a `Range` header requests of a file of `size` bytes; `null` for the whole, if the header is absent, is
 * not valid or has several ranges.
 * Implements: RFC 9110 sections 14.1.2 and 14.2.
 */
export function requestedRange(
  header: string | undefined,
  size: number,
): ByteRange | 'UNSATISFIABLE' | null {
  const [, first = '', last = ''] = RANGE.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const start = Math.max(0, size - Number(last));
    return start < size ? { start, end: size } : 'UNSATISFIABLE';
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(size, Number(last) + 1);
  if (last !== '' && Number(last) < start) return null;
  return start < size ? { start, end } : 'UNSATISFIABLE';
}
