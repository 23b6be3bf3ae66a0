import { Refusal } from '../../http/answer.ts';
import { webAddress } from '../context.ts';

// Implements: Link API > Resources > QR code.
const QR_TYPES = ['text', 'vcard', 'link', 'email', 'phone', 'sms', 'wifi'] as const;

/**
 * The text that a phone reads from a code of this type. Rejects data of another format.
 *
 * The documentation only says "string or array depending on type". Text, links and phone numbers
 * are strings; business cards and networks are arrays, as a JSON object of named parts or a JSON
 * array in the order the parts are named below; email and sms may be either.
 * Implements: Link API > QR codes.
 */
export function qrContent(type: string, data: unknown): string {
  const content = encode(type, data);
  if (Buffer.byteLength(content) > MAX_BYTES)
    throw new Refusal(400, 'The data are too long for a QR code');
  return content;
}

// The largest code holds 2331 bytes at the usual error correction.
const MAX_BYTES = 2331;

function encode(type: string, data: unknown): string {
  switch (type) {
    case 'text':
      return plain(type, data);
    case 'link':
      return webAddress(plain(type, data), 'data');
    case 'phone':
      return `tel:${number(plain(type, data))}`;
    case 'email': {
      const parts = typeof data === 'string' ? { email: data } : named(type, data, ['email']);
      const query = ['subject', 'body']
        .filter((name) => parts[name])
        .map((name) => `${name}=${encodeURIComponent(parts[name] ?? '')}`);
      if (!parts['email']?.includes('@')) throw new Refusal(400, 'The data must name an email');
      return `mailto:${parts['email']}${query.length > 0 ? `?${query.join('&')}` : ''}`;
    }
    case 'sms': {
      const parts = typeof data === 'string' ? { phone: data } : named(type, data, ['phone']);
      return `SMSTO:${number(parts['phone'] ?? '')}:${parts['message'] ?? ''}`;
    }
    case 'wifi': {
      const parts = named(type, data, ['ssid']);
      const kind = (parts['encryption'] || (parts['password'] ? 'WPA' : 'nopass')).toUpperCase();
      const secret = parts['password'] ? `P:${quoted(parts['password'])};` : '';
      return `WIFI:T:${kind === 'NOPASS' ? 'nopass' : kind};S:${quoted(parts['ssid'] ?? '')};${secret};`;
    }
    case 'vcard':
      return vcard(named(type, data, []));
    default:
      throw new Refusal(400, `The type must be one of ${QR_TYPES.join(', ')}`);
  }
}

// The order of the parts in a plain array, and other names of the parts in installations.
const PARTS: Record<string, string[]> = {
  email: ['email', 'subject', 'body'],
  sms: ['phone', 'message'],
  wifi: ['ssid', 'encryption', 'password'],
  vcard: ['fname', 'lname', 'org', 'phone', 'email', 'site'],
};
const SYNONYMS: Record<string, string> = {
  firstname: 'fname',
  first_name: 'fname',
  lastname: 'lname',
  last_name: 'lname',
  name: 'fname',
  company: 'org',
  organization: 'org',
  tel: 'phone',
  url: 'site',
  website: 'site',
  pass: 'password',
};

function plain(type: string, data: unknown): string {
  if (typeof data !== 'string' || data.trim() === '')
    throw new Refusal(400, `The data of a ${type} code must be a string`);
  return data.trim();
}

function named(type: string, data: unknown, needed: string[]): Record<string, string> {
  if (typeof data !== 'object' || data === null)
    throw new Refusal(400, `The data of a ${type} code must be an array`);
  const parts: Record<string, string> = {};
  const entries = Array.isArray(data)
    ? data.map((value: unknown, index) => [PARTS[type]?.[index] ?? '', value] as const)
    : Object.entries(data);
  for (const [name, value] of entries) {
    const simple = typeof value === 'string' || typeof value === 'number';
    const lower = name.toLowerCase();
    if (simple && lower) parts[SYNONYMS[lower] ?? lower] = String(value);
  }
  if (Object.keys(parts).length === 0 || needed.some((name) => !parts[name]))
    throw new Refusal(400, `The data of a ${type} code must have ${needed.join(', ') || 'parts'}`);
  return parts;
}

function number(text: string): string {
  const digits = text.replace(/[\s()./-]/g, '');
  if (!/^\+?\d{3,15}$/.test(digits)) throw new Refusal(400, 'The data must be a phone number');
  return digits;
}

function quoted(text: string): string {
  return text.replace(/[\\;,:"]/g, (character) => `\\${character}`);
}

function vcard(parts: Record<string, string>): string {
  const { fname = '', lname = '', org, phone, email, site } = parts;
  const lines = [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:${lname};${fname}`,
    `FN:${`${fname} ${lname}`.trim() || org || ''}`,
    ...(org ? [`ORG:${org}`] : []),
    ...(phone ? [`TEL:${phone}`] : []),
    ...(email ? [`EMAIL:${email}`] : []),
    ...(site ? [`URL:${site}`] : []),
    'END:VCARD',
  ];
  return lines.join('\n');
}
