import { BadUserInput } from '../errors.ts';
import { builder } from '../graph/builder.ts';
import { ItemRef } from './item.graph.ts';
import { type Purchase, purchase } from './purchase.ts';

/** Longest code that is sent upstream. Real ones have some 36 characters. */
const MAX_CODE_LENGTH = 200;

const PurchaseRef = builder.objectRef<Purchase>('Purchase').implement({
  description: 'A purchase, identified by its purchase code.',
  fields: (t) => ({
    code: t.exposeString('code', {
      nullable: false,
      description: 'The code that the buyer received.',
    }),
    licenseType: t.exposeString('licenseType', {
      description: 'License as the API names it; null if the API does not provide it.',
    }),
    price: t.exposeFloat('price', {
      description: 'Price paid, in `currency`; null if the API does not provide it.',
    }),
    currency: t.exposeString('currency', {
      description: 'Currency code of `price`; null if the API does not provide it.',
    }),
    item: t.expose('item', {
      type: ItemRef,
      description:
        'The purchased item; null if the API does not provide it. Included in the purchase, so it costs no extra upstream request.',
    }),
    supportedUntil: t.expose('supportedUntil', {
      type: 'DateTime',
      description: 'Time at which support ends; null if the purchase has no support.',
    }),
    downloaded: t.exposeBoolean('downloaded', {
      description:
        'Whether the buyer has downloaded the item; null if the API does not provide it.',
    }),
    date: t.expose('date', {
      type: 'DateTime',
      description: 'Time of the purchase; null if the API does not provide it.',
    }),
  }),
});

builder.queryField('purchase', (t) =>
  t.field({
    type: PurchaseRef,
    description:
      'The purchase with this code; null if the code is not valid. Costs 1 upstream request if not cached.',
    args: {
      code: t.arg.string({
        required: true,
        description: 'The purchase code that the buyer received.',
      }),
    },
    resolve: (_root, { code }, { market }) => {
      const trimmed = code.trim();
      if (trimmed === '' || trimmed.length > MAX_CODE_LENGTH) {
        throw new BadUserInput(`"code" must have 1 to ${MAX_CODE_LENGTH} characters.`);
      }
      return market.read(purchase(trimmed));
    },
  }),
);
