import { inner } from '../upstream/decode/compound.ts';
import {
  asMap,
  type Decoded,
  DecodeError,
  flag,
  isEmpty,
  isPresent,
  type JsonObject,
  number,
  readField,
  readFields,
  readRow,
  surprise,
  text,
  time,
} from '../upstream/decode/fields.ts';
import type { DecodeContext, Read } from '../upstream/request.ts';
import { type Item, itemFields } from './item.ts';

const fields = {
  licenseType: text('license_type'),
  // In `currency`.
  price: number('price'),
  currency: text('currency'),
  // `null` when the purchase comes without support.
  supportedUntil: time('supported_until'),
  downloaded: flag('downloaded'),
  date: time('date'),
};

/** The purchase of a code. Implements: Marketplace API > Resources > Purchase. */
export interface Purchase extends Decoded<typeof fields> {
  /** As the upstream spells it. */
  readonly code: string;
  /** As it was requested, which finds it again; absent in what an older version has saved. */
  readonly requested?: string;
  readonly item: Item | null;
}

/** `code` is the requested one, for responses that do not repeat it. */
function decodePurchase(purchase: JsonObject, code: string): Purchase {
  return {
    code: readField(text('purchase_code'), purchase) || code,
    requested: code,
    ...readFields(fields, purchase),
    item: decodePurchasedItem(purchase),
  };
}

/**
 * An item without an id is `null`, and the purchase stays usable. In responses with the code inside the item, the
 * row is both.
 */
function decodePurchasedItem(purchase: JsonObject): Item | null {
  const isItem = ['id', 'name'].every((key) => isPresent(purchase.members[key]));
  const own = readField(
    inner('item', (object) => object),
    purchase,
  );
  const item = own ?? (isItem ? purchase : null);
  if (item === null || isEmpty(item)) return null;
  try {
    return readRow(itemFields, item);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    surprise(purchase, 'item');
    return null;
  }
}

/**
 * The purchase of a code; `null` if the code is not valid. A POST that changes nothing. 1 upstream request.
 * Implements: Marketplace API > Endpoints > POST /api/purchases/validation.
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
function findPurchase(body: unknown, context: DecodeContext): JsonObject | null {
  const answer = asMap(body) ?? {};
  const data = asMap(answer['data']);
  for (const value of [data?.['purchase'], answer['purchase']]) {
    const members = asMap(value);
    const row = members && { members, path: 'purchase', context };
    if (row) return isEmpty(row) ? null : row;
  }
  for (const members of [data, asMap(answer['item'])]) {
    if (members && isPresent(members['purchase_code'])) {
      return { members, path: 'purchase', context };
    }
  }
  const hollow = 'purchase' in answer || (data !== undefined && 'purchase' in data);
  if (hollow) return null;
  throw new DecodeError('purchase.data.purchase', 'an object');
}
