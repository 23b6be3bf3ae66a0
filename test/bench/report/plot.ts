import { comparison } from './comparison.ts';
import {
  type Curve,
  type Figure,
  type Measurement,
  meets,
  written,
  writtenTarget,
} from './measurement.ts';
import { type Run, writtenRun } from './run.ts';
import { FAINT, INK, LINES, line, type Part, RULE, round, text } from './svg.ts';
import { timeline } from './timeline.ts';

const WIDTH = 980;
const MARGIN = 24;
const FRAME = { width: WIDTH, margin: MARGIN };
const ROW = 22;
/** Where bars begin, and where they end that are as long as their target. */
const BARS = 450;
const AT_TARGET = 700;
/** Longer ones are cut. */
const LONGEST = 1.4;
const VALUES = 820;
/** Ages above this, in units of the ideal, leave the chart: only before the order has come about. */
const HIGHEST = 2;

const GOOD = '#3f9c76';
const BAD = '#d64545';

/** The figures of a run against their targets, and its curves, as an SVG document. */
export function plot(run: Run): string {
  const parts = [
    title(run),
    ...run.measurements.map(bars),
    ...run.measurements.flatMap((each) =>
      each.comparison ? [comparison(each.comparison, FRAME)] : [],
    ),
    ...run.measurements.flatMap(({ curves }) => (curves ? [chart(curves)] : [])),
    ...run.measurements.flatMap((each) => (each.timeline ? [timeline(each.timeline, FRAME)] : [])),
  ];
  let y = MARGIN;
  const placed = parts.map(({ svg, height }) => {
    const at = y;
    y += height;
    return `<g transform="translate(0 ${at})">${svg}</g>`;
  });
  const height = y + MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#ffffff"/>
${placed.join('\n')}
</svg>
`;
}

function title(run: Run): Part {
  const svg = [
    text(MARGIN, 16, 'Measured against its targets', { size: 18, weight: 600 }),
    ...wrap(writtenRun(run), 135).map((words, index) =>
      text(MARGIN, 38 + index * 17, words, { color: FAINT }),
    ),
    text(
      MARGIN,
      58 + (wrap(writtenRun(run), 135).length - 1) * 17,
      'The vertical line is the target. A bar may reach a maximum (≤) and must reach a minimum (≥).',
      { color: FAINT },
    ),
  ];
  return { svg: svg.join(''), height: 70 + (wrap(writtenRun(run), 135).length - 1) * 17 };
}

function bars({ bench, about, figures }: Measurement): Part {
  const rows = figures.filter(({ target }) => target);
  const explained = wrap(about, 135);
  const top = 34 + explained.length * 17;
  const bottom = top + rows.length * ROW;
  const svg = [
    text(MARGIN, 24, bench, { size: 15, weight: 600 }),
    ...explained.map((words, index) => text(MARGIN, 43 + index * 17, words, { color: FAINT })),
    ...rows.map((figure, index) => bar(figure, top + index * ROW)),
    line([AT_TARGET, top], [AT_TARGET, bottom], INK, 1.5),
  ];
  return { svg: svg.join(''), height: bottom + 12 };
}

function bar(figure: Figure, y: number): string {
  const length = Math.min(LONGEST, lengthOf(figure)) * (AT_TARGET - BARS);
  const color = meets(figure) ? GOOD : BAD;
  const middle = y + ROW / 2 + 4;
  return [
    text(MARGIN, middle, shortened(figure.label, 62), {}),
    line([BARS, y + 1], [BARS, y + ROW - 1], RULE, 1),
    `<rect x="${BARS}" y="${y + 4}" width="${round(Math.max(2, length))}" height="${ROW - 8}" rx="2" fill="${color}"/>`,
    text(VALUES + 60, middle, written(figure), { anchor: 'end', weight: 600, color }),
    text(VALUES + 72, middle, writtenTarget(figure), { color: FAINT }),
  ].join('');
}

/** In units of the target; where nothing is allowed, anything is too long. */
function lengthOf({ value, target }: Figure): number {
  if (!target) return 0;
  const bound = 'atMost' in target ? target.atMost : target.atLeast;
  if (bound === 0) return value === 0 ? 0 : LONGEST;
  return value / bound;
}

function chart(curves: readonly Curve[]): Part {
  const [left, right, top, bottom] = [MARGIN + 50, WIDTH - 110, 62, 302];
  const points = curves.flatMap((curve) => curve.points);
  const maxX = Math.ceil(Math.max(...points.map(({ x }) => x)));
  const maxY = HIGHEST;
  const px = (x: number) => round(left + (x / maxX) * (right - left));
  const py = (y: number) => round(bottom - (y / maxY) * (bottom - top));
  const svg = [
    text(MARGIN, 24, 'Age of the oldest data that a reader received, over time', {
      size: 15,
      weight: 600,
    }),
    text(
      MARGIN,
      44,
      'N entries are in use, and B = 30 calls per minute are allowed. The unit is N/B: the age of the oldest entry if all are read in turn.',
      { color: FAINT },
    ),
    `<clipPath id="chart"><rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/></clipPath>`,
    `<rect x="${left}" y="${top}" width="${round((right - left) * (2 / maxX))}" height="${bottom - top}" fill="#f4f6f8"/>`,
    text(left + 8, bottom - 10, 'start phase: not counted', { color: FAINT }),
  ];
  for (let y = 0; y <= maxY; y += 0.5) {
    svg.push(line([left, py(y)], [right, py(y)], RULE, 1));
    svg.push(text(left - 8, py(y) + 4, y.toFixed(1), { anchor: 'end', color: FAINT }));
  }
  for (const [y, name] of [
    [1, 'ideal 1.00'],
    [1.25, 'target 1.25'],
  ] as const) {
    svg.push(line([left, py(y)], [right, py(y)], INK, 1, '5 4'));
    svg.push(text(right + 8, py(y) + 4, name, {}));
  }
  for (let x = 0; x <= maxX; x += 1) {
    svg.push(text(px(x), bottom + 18, String(x), { anchor: 'middle', color: FAINT }));
  }
  const axis = 'time since all entries were first read, in units of N/B';
  svg.push(text((left + right) / 2, bottom + 38, axis, { anchor: 'middle', color: FAINT }));
  curves.forEach(({ label, points }, index) => {
    const color = LINES[index % LINES.length] as string;
    const path = points.map(({ x, y }) => `${px(x)},${py(y)}`).join(' ');
    svg.push(
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2" stroke-linejoin="round" clip-path="url(#chart)"/>`,
    );
    const x = right - (curves.length - index) * 90;
    svg.push(line([x, top + 12], [x + 18, top + 12], color, 3));
    svg.push(text(x + 24, top + 16, label, {}));
  });
  return { svg: svg.join(''), height: bottom + 48 };
}

/** Lines of at most this many letters. */
function wrap(words: string, letters: number): string[] {
  const lines = [''];
  for (const word of words.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length <= letters) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function shortened(words: string, letters: number): string {
  return words.length <= letters ? words : `${words.slice(0, letters - 1)}…`;
}
