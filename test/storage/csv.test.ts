import { describe, expect, it } from 'vitest';
import { csvLine } from '../../src/storage/csv.ts';

/** The only cell of a line, as a spreadsheet reads it. */
function cellOf(value: unknown): string {
  const text = csvLine([value]).replace(/\r\n$/, '');
  return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;
}

describe('A cell of a CSV file', () => {
  const signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫'];
  const blanks = [
    ['nothing', ''],
    ['a space', ' '],
    ['a tab', '\t'],
    ['a return', '\r'],
    ['a line feed', '\n'],
    ['a null character', '\0'],
    ['a byte order mark', '\uFEFF'],
    ['a no-break space', '\u00A0'],
    ['an ideographic space', '\u3000'],
    ['a line separator', '\u2028'],
    ['a zero-width space', '\u200B'],
    ['a soft hyphen', '\u00AD'],
    ['a mark that turns text around', '\u202E'],
    ['many blanks', ` \uFEFF\u00A0${' '.repeat(100)}`],
  ] as const;

  it.each(signs.flatMap((sign) => blanks.map(([name, blank]) => [sign, name, blank] as const)))(
    'that begins with %s after %s is not executed',
    (sign, _name, blank) => {
      const text = `${blank}${sign}1+1`;
      expect(cellOf(text)).toBe(`'${text}`);
    },
  );

  it.each([
    ['a tab', '\ta'],
    ['a return', '\ra'],
    ['a line feed', '\na'],
  ])('that begins with %s gets an apostrophe whatever follows', (_name, text) => {
    expect(cellOf(text)).toBe(`'${text}`);
  });

  it.each([
    ['a word', 'a=1', 'a=1'],
    ['a blank before a word', '\u00A0a', '\u00A0a'],
    ['an empty text', '', ''],
    ['nothing', null, ''],
    ['nothing at all', undefined, ''],
    ['a negative number', -5, '-5'],
    ['a negative number as text', '-5', "'-5"],
    ['a truth value', false, 'false'],
    ['a list', ['=1'], '["=1"]'],
  ])('has %s as it is', (_name, value, cell) => {
    expect(cellOf(value)).toBe(cell);
  });

  it('is quoted where the line would be read as others', () => {
    expect(csvLine(['a,b', 'c"d', 'e\nf', 'g'])).toBe('"a,b","c""d","e\nf",g\r\n');
  });
});
