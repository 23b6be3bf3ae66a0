import { DecodeError, RowReader } from '../upstream/decode/row-reader.ts';
import { asMap } from '../upstream/decode/scalars.ts';
import type { DecodeContext, Read } from '../upstream/request.ts';
import { decodeItem, type Item } from './item.ts';

/** What a buyer's code stands for. Implements: Marketplace API > Resources > Purchase. */
export interface Purchase {
  readonly code: string;
  readonly licenseType: string | null;
  /** In `currency`. */
  readonly price: number | null;
  readonly currency: string | null;
  readonly item: Item | null;
  /** `null` when the purchase comes without support. */
  readonly supportedUntil: string | null;
  readonly downloaded: boolean | null;
  readonly date: string | null;
}

/** `code` is the requested one, for answers that do not repeat it. */
function decodePurchase(row: RowReader, code: string): Purchase {
  return {
    code: row.text('purchase_code') || code,
    licenseType: row.text('license_type'),
    price: row.number('price'),
    currency: row.text('currency'),
    item: decodePurchasedItem(row),
    supportedUntil: row.time('supported_until'),
    downloaded: row.flag('downloaded'),
    date: row.time('date'),
  };
}

/**
 * An item without an id is `null`, and the purchase stays usable. In answers that put the code into
 * the item, the row is both at once.
 */
function decodePurchasedItem(row: RowReader): Item | null {
  const item = row.map('item') ?? (row.has('id') && row.has('name') ? row : null);
  if (item === null || item.empty) return null;
  try {
    return decodeItem(item);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    row.surprise('item');
    return null;
  }
}

/**
 * The purchase that a code stands for; `null` when the code is not valid. A POST that changes nothing.
 * 1 upstream call. Implements: Marketplace API > Endpoints > POST /api/purchases/validation.
 */
export function purchase(code: string): Read<Purchase | null> {
  return {
    resource: 'purchase',
    tags: ['purchases'],
    method: 'POST',
    path: '/api/purchases/validation',
    body: { purchase_code: code },
    absentIsNull: true,
    decode(body, context) {
      const row = findPurchase(body, context);
      return row && decodePurchase(row, code);
    },
  };
}

/**
 * Finds the purchase: in `data.purchase` as documented, else in `purchase`, else in `data` or a
 * top-level `item` with the code among its members; `null` for a success that is empty.
 * @throws DecodeError when the answer is about something else.
 */
function findPurchase(body: unknown, context: DecodeContext): RowReader | null {
  const answer = asMap(body) ?? {};
  const data = asMap(answer['data']);
  for (const value of [data?.['purchase'], answer['purchase']]) {
    const members = asMap(value);
    if (members) {
      const row = new RowReader(members, 'purchase', context);
      return row.empty ? null : row;
    }
  }
  for (const members of [data, asMap(answer['item'])]) {
    const row = members && new RowReader(members, 'purchase', context);
    if (row?.has('purchase_code')) return row;
  }
  const hollow = 'purchase' in answer || (data !== undefined && 'purchase' in data);
  if (hollow) return null;
  throw new DecodeError('purchase.data.purchase', 'an object');
}
