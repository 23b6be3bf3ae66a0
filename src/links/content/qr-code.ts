import { pageDecoder } from '../../upstream/decode/page.ts';
import { type RowReader, readRow, readSingle } from '../../upstream/decode/row-reader.ts';
import { decodeText, parseSmallInteger } from '../../upstream/decode/scalars.ts';
import type { Known, List, Read, Row, Write } from '../../upstream/request.ts';
import { channelItemTag, touches } from '../touches.ts';
import { given, openWritten } from '../written.ts';

/** A QR code as lists show it. Implements: Link API > Resources > QR code. */
export interface QrCode extends Row {
  /** A URL. */
  readonly link: string | null;
  readonly scans: number | null;
  readonly name: string | null;
  readonly date: string | null;
}

/** A QR code with the members that only the read of a single one has. */
export interface QrCodeDetail extends QrCode {
  /** `null` when the upstream has none. */
  readonly statistics: QrStatistics | null;
}

/** Every list of counts comes largest first. */
export interface QrStatistics {
  readonly clicks: number | null;
  readonly uniqueClicks: number | null;
  readonly topCountries: readonly LabelCount[];
  readonly topReferrers: readonly LabelCount[];
  readonly topBrowsers: readonly LabelCount[];
  readonly topOperatingSystems: readonly LabelCount[];
  readonly socialCounts: readonly LabelCount[];
}

/** How often one label was counted, e.g. one country. */
export interface LabelCount {
  readonly label: string;
  readonly count: number;
}

/** @throws DecodeError when the QR code has no id. */
function decodeQrCode(row: RowReader): QrCode {
  return {
    id: row.id(),
    link: row.text('link'),
    scans: row.integer('scans'),
    name: row.text('name'),
    // Some installations put the date of creation under `data`.
    date: row.time('date', 'data'),
  };
}

/** Reads the statistics; an object without members means that there are none. */
function decodeQrStatistics(row: RowReader): QrStatistics | null {
  if (row.empty) return null;
  return {
    clicks: row.integer('clicks'),
    uniqueClicks: row.integer('uniqueClicks'),
    topCountries: decodeCounts(row, 'topCountries'),
    topReferrers: decodeCounts(row, 'topReferrers'),
    topBrowsers: decodeCounts(row, 'topBrowsers'),
    topOperatingSystems: decodeCounts(row, 'topOs'),
    socialCounts: decodeCounts(row, 'socialCount'),
  };
}

/**
 * A map from label to count, the count often as text. Without any scan it is `[]` or the bare number
 * 0 instead of an empty object. Equal counts stay in the upstream's order.
 */
function decodeCounts(row: RowReader, member: string): readonly LabelCount[] {
  const counts: LabelCount[] = [];
  for (const [label, value] of row.entries(member)) {
    const count = parseSmallInteger(value);
    if (typeof count === 'number') counts.push({ label: decodeText(label), count });
    else row.surprise(member);
  }
  return counts.sort((a, b) => b.count - a.count);
}

/**
 * One QR code with its statistics; `null` when there is none of this id. 1 upstream call.
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
    decode(body, context) {
      const details = readSingle(body, ['details'], 'qrCode', context);
      if (!details) return null;
      const statistics = readRow(body, 'qrCode', context).map('data');
      return {
        ...decodeQrCode(details),
        statistics: statistics && decodeQrStatistics(statistics),
      };
    },
  };
}

/**
 * All QR codes, without statistics. 1 upstream call a page.
 * Implements: Link API > QR codes > List QR codes.
 */
export const qrCodes: List<QrCode> = {
  resource: 'qrCodes',
  tags: ['qrCodes'],
  path: '/api/qr',
  paged: true,
  decode: pageDecoder({ resource: 'qrCodes', keys: ['qrs'], decodeRow: decodeQrCode }),
  single: qrCode,
};

/** What a code holds, which decides the form of its data. */
export type QrType = 'TEXT' | 'VCARD' | 'LINK' | 'EMAIL' | 'PHONE' | 'SMS' | 'WIFI';

/** The content of a code: a text, or the named parts that some types consist of. */
export type QrData = string | Readonly<Record<string, unknown>>;

/** What to change of a QR code; what is absent or `null` stays as it is. */
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
 * Makes a QR code. 1 upstream call.
 * Implements: Link API > QR codes > POST /api/qr/add.
 */
export function createQrCode(input: CreateQrCode): Write<Known<QrCode>> {
  return {
    method: 'POST',
    path: '/api/qr/add',
    body: given({ ...members(input), name: input.name }),
    decode(body, context) {
      const row = openWritten(body, 'qrCodes', context);
      return {
        id: row.id(),
        link: row.has('link') ? row.text('link') : undefined,
        name: row.has('name') ? row.text('name') : (input.name ?? undefined),
      };
    },
    touches: (made) => touches.createQrCode({ id: made?.id }),
    check: 'Query.qrCodes',
  };
}

/**
 * Changes what a QR code says and how it looks. 1 upstream call.
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
  };
}

/**
 * Removes a QR code, from its channels too. 1 upstream call.
 * Implements: Link API > QR codes > DELETE /api/qr/:id/delete.
 */
export function deleteQrCode(id: number): Write<{ readonly id: number }> {
  return {
    method: 'DELETE',
    path: `/api/qr/${id}/delete`,
    decode: () => ({ id }),
    touches: () => touches.deleteQrCode({ id }),
    leaves: channelItemTag(`QR:${id}`),
    check: 'Query.qrCode',
  };
}

/** The input in the upstream's words. */
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
