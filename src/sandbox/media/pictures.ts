import { type Answer, escapeHtml, raw } from '../http/answer.ts';
import { spread } from '../links/store.ts';

/** Kinds of drawn picture, each with its size. */
const SIZES = {
  avatar: [256, 256],
  cover: [1200, 320],
  preview: [960, 540],
  thumbnail: [160, 160],
  screenshot: [1024, 720],
} as const;

/** A kind of picture the sandbox draws. */
export type PictureKind = keyof typeof SIZES;

/** Whether the sandbox draws this kind. */
export function isPictureKind(kind: string | undefined): kind is PictureKind {
  return kind !== undefined && Object.hasOwn(SIZES, kind);
}

/** Draws a picture as SVG; the same seed gives the same picture, the label is written into it. */
export function drawPicture(kind: PictureKind, seed: string, label: string): Answer {
  const [width, height] = SIZES[kind];
  const colors = palette(seed);
  const frame = { width, height, seed, label, colors };
  const content = { avatar, cover: scene, preview: scene, thumbnail, screenshot }[kind](frame);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escapeHtml(label)}</title>
<defs><linearGradient id="sky" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="${colors.light}"/><stop offset="1" stop-color="${colors.main}"/></linearGradient></defs>
<rect width="${width}" height="${height}" fill="url(#sky)"/>
${content}
</svg>`;
  const answer = raw('image/svg+xml; charset=utf-8', svg);
  answer.headers['cache-control'] = 'public, max-age=86400';
  return answer;
}

interface Frame {
  width: number;
  height: number;
  seed: string;
  label: string;
  colors: { light: string; main: string; dark: string; accent: string };
}

const FONT = 'font-family="Georgia, serif"';

function palette(seed: string): Frame['colors'] {
  const hue = spread(seed) % 360;
  return {
    light: `hsl(${hue} 60% 88%)`,
    main: `hsl(${(hue + 24) % 360} 48% 62%)`,
    dark: `hsl(${(hue + 40) % 360} 42% 26%)`,
    accent: `hsl(${(hue + 190) % 360} 65% 58%)`,
  };
}

function initials(label: string): string {
  const words = label.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return words
    .slice(0, 2)
    .map((word) => word.slice(0, 1).toUpperCase())
    .join('');
}

function avatar({ seed, label, colors }: Frame): string {
  const lean = (spread(`${seed} lean`) % 60) - 30;
  return `<circle cx="${200 + lean}" cy="70" r="120" fill="${colors.accent}" opacity=".55"/>
<circle cx="${40 - lean}" cy="230" r="110" fill="${colors.dark}" opacity=".35"/>
<text x="128" y="162" font-size="104" ${FONT} text-anchor="middle" fill="#fff">${escapeHtml(initials(label))}</text>`;
}

function thumbnail({ seed, label, colors }: Frame): string {
  const turn = spread(`${seed} turn`) % 90;
  return `<g transform="rotate(${turn} 80 80)"><rect x="28" y="28" width="104" height="104" rx="18" fill="${colors.dark}" opacity=".85"/><rect x="52" y="10" width="72" height="72" rx="36" fill="${colors.accent}" opacity=".8"/></g>
<text x="80" y="95" font-size="44" ${FONT} text-anchor="middle" fill="#fff">${escapeHtml(initials(label))}</text>`;
}

/** Hills under a sun, with the label below: for previews and covers. */
function scene({ width, height, seed, label, colors }: Frame): string {
  const hill = (row: number) => {
    const base = height * (0.5 + row * 0.14);
    const bend = (part: number) =>
      base - (spread(`${seed} ${row} ${part}`) % Math.round(height * 0.22));
    const curve = `M0 ${base} C${width * 0.25} ${bend(1)} ${width * 0.35} ${bend(2)} ${width * 0.55} ${base} S${width * 0.85} ${bend(3)} ${width} ${bend(4)}`;
    return `<path d="${curve} V${height} H0Z" fill="${colors.dark}" opacity="${0.3 + row * 0.22}"/>`;
  };
  const sun = width * (0.2 + (spread(`${seed} sun`) % 60) / 100);
  return `<circle cx="${sun}" cy="${height * 0.3}" r="${height * 0.16}" fill="${colors.accent}"/>
${hill(0)}${hill(1)}${hill(2)}
<text x="${width * 0.05}" y="${height * 0.93}" font-size="${Math.round(height * 0.08)}" ${FONT} fill="#fff">${escapeHtml(label)}</text>`;
}

/** A window with a menu, cards and a chart. */
function screenshot({ seed, label, colors }: Frame): string {
  const menu = [0, 1, 2, 3, 4].map((row) => {
    const width = 70 + (spread(`${seed} menu ${row}`) % 70);
    return `<rect x="72" y="${170 + row * 44}" width="${width}" height="14" rx="7" fill="#fff" opacity=".7"/>`;
  });
  const cards = [0, 1, 2].map(
    (card) =>
      `<rect x="${280 + card * 232}" y="150" width="208" height="120" rx="12" fill="${card === 1 ? colors.accent : colors.light}"/>`,
  );
  const bars = Array.from({ length: 12 }, (_, bar) => {
    const height = 40 + (spread(`${seed} bar ${bar}`) % 220);
    return `<rect x="${290 + bar * 56}" y="${620 - height}" width="34" height="${height}" rx="6" fill="${colors.main}"/>`;
  });
  return `<rect x="40" y="40" width="944" height="640" rx="18" fill="#fff"/><path d="M40 58a18 18 0 0 1 18-18h182v640H58a18 18 0 0 1-18-18z" fill="${colors.dark}"/>
<text x="280" y="108" font-size="32" ${FONT} fill="${colors.dark}">${escapeHtml(label)}</text>
${menu.join('')}${cards.join('')}${bars.join('')}`;
}
