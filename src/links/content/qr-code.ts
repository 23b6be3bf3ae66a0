import { isBlank, nested } from '../../upstream/decode/compound.ts';
import { openSingle, pageDecoder } from '../../upstream/decode/envelope.ts';
import {
  asMap,
  count,
  type Decoded,
  decodeText,
  type Field,
  isPresent,
  openObject,
  parseCount,
  type RowOf,
  readField,
  readRow,
  surprise,
  text,
  time,
} from '../../upstream/decode/fields.ts';
import type { Count, Known, List, Read, Row, Write } from '../../upstream/request.ts';
import { creation, repeatable } from '../evidence.ts';
import { sameText } from '../likeness.ts';
import { channelItemTag, touches } from '../touches.ts';
import { given, removal, writtenDecoder } from '../written.ts';

const fields = {
  // A URL.
  link: text('link'),
  scans: count('scans'),
  name: text('name'),
  // Some installations put the date of creation under `data`.
  date: time('date', 'data'),
};

/** A QR code as lists show it. Implements: Link API > Resources > QR code. */
export type QrCode = RowOf<typeof fields>;

/** Its scans over time. */
const scanCount: Count<QrCode> = {
  name: 'scans',
  value: ({ scans }) => scans,
  origin: ({ date }) => date,
};

/** How often one label was counted, e.g. one country. */
export interface LabelCount {
  readonly label: string;
  /** `null` if the upstream sends none that can be read. */
  readonly count: number | null;
}

/**
 * A map from label to count, the count often as text; largest first, equal ones in the upstream's order.
 * Without any scan it is `[]` or the bare number 0 instead of an empty object.
 */
function counts(key: string): Field<readonly LabelCount[]> {
  const parse: Field<readonly LabelCount[]>['parse'] = (value, object) => {
    const members = isBlank(value) ? {} : asMap(value);
    const made = Object.entries(members ?? {}).map(([label, each]) => {
      const found = parseCount(each);
      if (found === undefined && isPresent(each)) surprise(object, key);
      return { label: decodeText(label), count: found ?? null };
    });
    return members && made.sort((a, b) => (b.count ?? -1) - (a.count ?? -1));
  };
  return { keys: [key], parse, absent: [] };
}

const statisticsFields = {
  clicks: count('clicks'),
  uniqueClicks: count('uniqueClicks'),
  topCountries: counts('topCountries'),
  topReferrers: counts('topReferrers'),
  topBrowsers: counts('topBrowsers'),
  topOperatingSystems: counts('topOs'),
  socialCounts: counts('socialCount'),
};

/** Scan statistics of a QR code. */
export type QrStatistics = Decoded<typeof statisticsFields>;

/** A QR code with the members that only the read of a single one has. */
export interface QrCodeDetail extends QrCode {
  /** `null` when the upstream has none. */
  readonly statistics: QrStatistics | null;
}

/**
 * One QR code with its statistics; `null` if it does not exist. 1 upstream request.
 * Implements: Link API > QR codes > Get a QR code.
 */
export function qrCode(id: number): Read<QrCodeDetail | null> {
  return {
    resource: 'qrStatistics',
    tags: ['qrStatistics', `qrCode:${id}`],
    method: 'GET',
    path: `/api/qr/${id}`,
    about: id,
    absentIsNull: true,
    count: scanCount,
    decode(body, context) {
      const details = openSingle(body, ['details'], 'qrCode', context);
      if (!details) return null;
      const statistics = nested('data', statisticsFields);
      const answer = openObject(body, 'qrCode', context);
      return { ...readRow(fields, details), statistics: readField(statistics, answer) };
    },
  };
}

/**
 * All QR codes, without statistics. 1 upstream request per page.
 * Implements: Link API > QR codes > List QR codes.
 */
export const qrCodes: List<QrCode> = {
  resource: 'qrCodes',
  tags: ['qrCodes'],
  path: '/api/qr',
  paged: true,
  decode: pageDecoder({ resource: 'qrCodes', keys: ['qrs'], fields }),
  single: qrCode,
  count: scanCount,
};

/** The type of a code's content, which determines the form of its data. */
export type QrType = 'TEXT' | 'VCARD' | 'LINK' | 'EMAIL' | 'PHONE' | 'SMS' | 'WIFI';

/** The content of a code: a text, or the named parts that some types consist of. */
export type QrData = string | Readonly<Record<string, unknown>>;

/** Changes to a QR code; missing and `null` members stay unchanged. */
export interface UpdateQrCode {
  readonly type?: QrType | null | undefined;
  readonly data: QrData;
  /** `rgb(r,g,b)`, with blanks inside or not. */
  readonly background?: string | null | undefined;
  /** As `background`. */
  readonly foreground?: string | null | undefined;
  /** Path or URL of a picture. */
  readonly logo?: string | null | undefined;
}

/** The QR code to make. */
export interface CreateQrCode extends UpdateQrCode {
  readonly type: QrType;
  readonly name?: string | null | undefined;
}

/**
 * Creates a QR code. 1 upstream request.
 * Implements: Link API > QR codes > POST /api/qr/add.
 */
export function createQrCode(input: CreateQrCode): Write<Known<QrCode>> {
  return {
    method: 'POST',
    path: '/api/qr/add',
    body: given({ ...members(input), name: input.name }),
    decode: writtenDecoder(
      'qrCodes',
      { link: fields.link, name: fields.name },
      { name: input.name },
    ),
    touches: (made) => touches.createQrCode({ id: made?.id }),
    check: 'Query.qrCodes',
    // No read returns the data of a code.
    evidence: creation(qrCodes, { name: sameText(input.name) }, { createdAt: ({ date }) => date }),
  };
}

/**
 * Changes the content and appearance of a QR code. 1 upstream request.
 * Implements: Link API > QR codes > PUT /api/qr/:id/update.
 */
export function updateQrCode(id: number, input: UpdateQrCode): Write<Known<QrCode>> {
  return {
    method: 'PUT',
    path: `/api/qr/${id}/update`,
    body: given(members(input)),
    decode: () => ({ id }),
    touches: () => touches.updateQrCode({ id }),
    check: 'Query.qrCode',
    row: `qrCode:${id}`,
    evidence: repeatable,
  };
}

/**
 * Deletes a QR code and removes it from its channels. 1 upstream request.
 * Implements: Link API > QR codes > DELETE /api/qr/:id/delete.
 */
export function deleteQrCode(id: number): Write<Row> {
  return removal('/api/qr', id, {
    touches: () => touches.deleteQrCode({ id }),
    leaves: channelItemTag(`QR:${id}`),
    ends: { count: 'scans', id },
    check: 'Query.qrCode',
    row: `qrCode:${id}`,
  });
}

/** The input with the member names of the upstream. */
function members({ type, data, background, foreground, logo }: UpdateQrCode) {
  return {
    type: type?.toLowerCase(),
    data,
    background: color(background),
    foreground: color(foreground),
    logo,
  };
}

/** Removes blanks: the documents show colors without them. */
function color(text: string | null | undefined): string | undefined {
  return text?.replace(/\s/g, '').toLowerCase();
}
