import type { Timeline } from './measurement.ts';
import { FAINT, INK, LINES, line, type Part, RULE, round, text } from './svg.ts';

/** Draws counts over time as steps, with an upright line for each thing that happened. */
export function timeline(
  { title, about, curves, marks }: Timeline,
  { width, margin }: { readonly width: number; readonly margin: number },
): Part {
  const [left, right, top, bottom] = [margin + 50, width - margin, 88, 268];
  const points = curves.flatMap((curve) => curve.points);
  const maxX = Math.max(...points.map(({ x }) => x));
  const maxY = Math.max(...points.map(({ y }) => y));
  const px = (x: number) => round(left + (x / maxX) * (right - left));
  const py = (y: number) => round(bottom - (y / maxY) * (bottom - top));
  const svg = [
    text(margin, 24, title, { size: 15, weight: 600 }),
    text(margin, 44, about, { color: FAINT }),
  ];
  const step = Math.max(1, Math.ceil(maxY / 5));
  for (let y = 0; y <= maxY; y += step) {
    svg.push(line([left, py(y)], [right, py(y)], RULE, 1));
    svg.push(text(left - 8, py(y) + 4, String(y), { anchor: 'end', color: FAINT }));
  }
  for (let x = 0; x <= maxX; x += 10) {
    svg.push(text(px(x), bottom + 18, String(x), { anchor: 'middle', color: FAINT }));
  }
  svg.push(text((left + right) / 2, bottom + 38, 'seconds', { anchor: 'middle', color: FAINT }));
  curves.forEach(({ label, points: [first, ...rest] }, index) => {
    if (!first) return;
    const color = LINES[index % LINES.length] as string;
    const steps = rest.map(({ x, y }) => `H${px(x)} V${py(y)}`).join(' ');
    svg.push(
      `<path d="M${px(first.x)} ${py(first.y)} ${steps}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
    );
    const x = right - (curves.length - index) * 150;
    svg.push(line([x, 20], [x + 18, 20], color, 3));
    svg.push(text(x + 24, 24, label, {}));
  });
  marks.forEach(({ x, label }, index) => {
    // What follows soon after must not be written over it.
    const height = index % 2 === 0 ? top - 20 : top - 6;
    svg.push(line([px(x), height], [px(x), bottom], INK, 1, '3 3'));
    svg.push(text(px(x) + 4, height + 4, label, { size: 11 }));
  });
  return { svg: svg.join(''), height: bottom + 52 };
}
