import type { Comparison } from './measurement.ts';
import { FAINT, INK, LINES, line, type Part, RULE, round, text } from './svg.ts';

const ROW = 20;
const GROUP = 30;
/** Where bars begin. */
const BARS = 480;
/** For values behind the longest. */
const ROOM = 90;

/** Draws shares of what all are compared with, whose line they would reach if they were no slower. */
export function comparison(
  { title, about, groups }: Comparison,
  { width, margin }: { readonly width: number; readonly margin: number },
): Part {
  const top = 58;
  const values = groups.flatMap(({ bars }) => bars.map(({ value }) => value));
  const scale = (width - margin - ROOM - BARS) / Math.max(1, ...values);
  const svg = [
    text(margin, 24, title, { size: 15, weight: 600 }),
    text(margin, 44, about, { color: FAINT }),
  ];
  let y = top;
  for (const { label, bars } of groups) {
    svg.push(text(margin, y + 20, label, { weight: 600 }));
    y += GROUP;
    for (const bar of bars) {
      const length = Math.max(2, bar.value * scale);
      svg.push(
        text(margin, y + 14, bar.label, {}),
        line([BARS, y], [BARS, y + ROW], RULE, 1),
        `<rect x="${BARS}" y="${y + 3}" width="${round(length)}" height="${ROW - 6}" rx="2" fill="${bar.isOurs ? LINES[1] : LINES[0]}"/>`,
        text(BARS + length + 8, y + 14, bar.value.toFixed(bar.value < 0.1 ? 3 : 2), {}),
      );
      y += ROW;
    }
  }
  const x = round(BARS + scale);
  svg.push(line([x, top + 8], [x, y], INK, 1.5, '5 4'));
  return { svg: svg.join(''), height: y + 12 };
}
