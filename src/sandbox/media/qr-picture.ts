import QRCode from 'qrcode';
import { type Answer, raw } from '../http/answer.ts';
import { qrContent } from '../links/assets/qr-content.ts';
import type { QrCode } from '../links/store.ts';

/**
 * Draws a QR code in its colours, so that a phone can scan it. Without its logo, which may be a picture on another
 * server: the sandbox sends no requests.
 */
export async function drawQr(qr: QrCode, format: 'svg' | 'png'): Promise<Answer> {
  const text = qrContent(qr.type, qr.data);
  const color = { dark: hex(qr.foreground), light: hex(qr.background) };
  if (format === 'png')
    return raw('image/png', await QRCode.toBuffer(text, { color, width: 480, margin: 3 }));
  const svg = await QRCode.toString(text, { type: 'svg', color, width: 480, margin: 3 });
  return raw('image/svg+xml; charset=utf-8', svg);
}

function hex(rgb: string): string {
  const parts = rgb.match(/\d+/g) ?? [];
  return `#${parts.map((part) => Number(part).toString(16).padStart(2, '0')).join('')}`;
}
