import { type Answer, escapeHtml, raw } from '../http/answer.ts';
import { spread } from '../links/store.ts';

/** Kinds of generated pictures, each with its size. */
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

/** Draws a picture as SVG: a disc with a label, in colours derived from `seed`. */
export function drawPicture(kind: PictureKind, seed: string, label: string): Answer {
  const [width, height] = SIZES[kind];
  const hue = spread(seed) % 360;
  const text = width === height ? initials(label) : label;
  const size = Math.round(Math.min(height * 0.4, width / text.length));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escapeHtml(label)}</title>
<rect width="${width}" height="${height}" fill="hsl(${hue} 45% 40%)"/>
<circle cx="${(width * (20 + (hue % 60))) / 100}" cy="${height * 0.4}" r="${height * 0.3}" fill="hsl(${(hue + 190) % 360} 65% 58%)"/>
<text x="50%" y="${height * 0.6}" font-size="${size}" font-family="Georgia, serif" text-anchor="middle" fill="#fff">${escapeHtml(text)}</text>
</svg>`;
  const answer = raw('image/svg+xml; charset=utf-8', svg);
  answer.headers['cache-control'] = 'public, max-age=86400';
  return answer;
}

function initials(label: string): string {
  const words = label.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return words
    .slice(0, 2)
    .map((word) => word.slice(0, 1).toUpperCase())
    .join('');
}
