/** The colors of what is drawn. */
export const INK = '#1f2933';
/** For what explains. */
export const FAINT = '#7b8794';
/** For what helps to read values. */
export const RULE = '#d9dee4';
/** For curves, in their order. */
export const LINES = ['#9aa5b1', '#2b6cb0', '#dd7a1e', '#7b4bb3'];

/** A part of the picture, and how much of its height it takes. */
export interface Part {
  readonly svg: string;
  readonly height: number;
}

/** How a text looks. */
interface TextStyle {
  readonly size?: number;
  readonly weight?: number;
  readonly color?: string;
  readonly anchor?: 'start' | 'middle' | 'end';
}

/** A line of text whose baseline begins, or ends, here. */
export function text(x: number, y: number, words: string, style: TextStyle): string {
  const { size, weight, color = INK, anchor } = style;
  const attributes = [
    `x="${x}" y="${y}" fill="${color}"`,
    size ? ` font-size="${size}"` : '',
    weight ? ` font-weight="${weight}"` : '',
    anchor ? ` text-anchor="${anchor}"` : '',
  ];
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text ${attributes.join('')}>${escaped}</text>`;
}

/** A straight line. */
export function line(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  color: string,
  width: number,
  dashes?: string,
): string {
  const dashed = dashes ? ` stroke-dasharray="${dashes}"` : '';
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${color}" stroke-width="${width}"${dashed}/>`;
}

/** Coordinates need no more digits. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
