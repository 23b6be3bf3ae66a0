import { builder } from '../../graph/builder.ts';
import { fault, type InputChecks } from '../../graph/checks.ts';
import { enumOf } from '../../graph/fields.ts';
import type { QrData, QrType } from './qr-code.ts';

/** The type of `type` in the inputs of both mutations. */
export const QrTypeRef = enumOf<QrType>(
  'QrType',
  'The content type of a QR code. Each type requires `value` or `fields` in `data`.',
  {
    TEXT: 'Any text, as `value`.',
    VCARD: 'A business card, as `fields`: fname, lname, org, phone, email, site.',
    LINK: 'An http or https URL, as `value`.',
    EMAIL: 'An email to send: the address as `value`, or email, subject and body as `fields`.',
    PHONE: 'A phone number to call, as `value`.',
    SMS: 'A text message to send: the phone number as `value`, or phone and message as `fields`.',
    WIFI: 'A Wi-Fi network to join, as `fields`: ssid, encryption, password.',
  },
);

/** The type of `data` in the inputs of both mutations; `checkQrData` checks it. */
export const QrDataInput = builder.inputType('QrDataInput', {
  description: 'The content of a QR code. Set exactly one member; the type determines which.',
  isOneOf: true,
  fields: (t) => ({
    value: t.string({ description: 'For TEXT, LINK, PHONE, EMAIL and SMS.' }),
    fields: t.field({
      type: 'JSONObject',
      description:
        'For VCARD, WIFI, EMAIL and SMS. WIFI requires `ssid`, EMAIL `email`, SMS `phone`. The API does not document the member names. `QrType` lists the usual names. The gateway forwards all members unchanged.',
    }),
  }),
});

type Input = typeof QrDataInput.$inferInput;

/** Which of the two each type takes. The documents say "string or array depending on type". */
const shapes: Readonly<Record<QrType, readonly (keyof Input)[]>> = {
  TEXT: ['value'],
  VCARD: ['fields'],
  LINK: ['value'],
  EMAIL: ['value', 'fields'],
  PHONE: ['value'],
  SMS: ['value', 'fields'],
  WIFI: ['fields'],
};

/** The part that data of a type must have. */
const needed: Readonly<Partial<Record<QrType, string>>> = {
  EMAIL: 'email',
  SMS: 'phone',
  WIFI: 'ssid',
};

/**
 * Validates the data of a QR code against its type, and returns it for the upstream. Without a type, as in an
 * update that does not change it, rejects only what is invalid for every type. No upstream request.
 */
export function checkQrData(
  checks: InputChecks,
  member: string,
  { value, fields }: Input,
  type: QrType | null | undefined,
): QrData {
  const kind = value == null ? 'fields' : 'value';
  const place = `${member}.${kind}`;
  if (type && !shapes[type].includes(kind)) {
    const members = shapes[type];
    const message = `is not valid for ${type}, which accepts \`${members.join('` or `')}\`.`;
    checks.issue(place, fault('NOT_FOR_TYPE', message, { type, members }));
  } else if (value != null) {
    checkText(checks, place, value, type);
  } else {
    checkFields(checks, place, fields ?? {}, type);
  }
  return value ?? fields ?? {};
}

function checkFields(
  checks: InputChecks,
  place: string,
  fields: Readonly<Record<string, unknown>>,
  type: QrType | null | undefined,
): void {
  const part = type ? needed[type] : undefined;
  if (part === undefined) {
    if (!Object.values(fields).some(saysSomething)) {
      checks.issue(place, fault('EMPTY', 'must have at least one non-empty member.'));
    }
    return;
  }
  const value = fields[part];
  if (typeof value === 'string' || typeof value === 'number') {
    checkText(checks, `${place}.${part}`, String(value), type);
  } else {
    checks.issue(`${place}.${part}`, fault('REQUIRED', 'is required and must be a string.'));
  }
}

function checkText(
  checks: InputChecks,
  place: string,
  text: string,
  type: QrType | null | undefined,
): void {
  if (text.trim() === '') checks.notBlank(place, text);
  else if (type === 'LINK') checks.webAddress(place, text);
  else if (type === 'EMAIL') checks.email(place, text);
  else if (type === 'PHONE' || type === 'SMS') checks.phone(place, text);
}

/** A text that is not blank, or any other value: parts may have parts of their own. */
function saysSomething(part: unknown): boolean {
  return typeof part === 'string' ? part.trim() !== '' : part !== null && part !== undefined;
}
