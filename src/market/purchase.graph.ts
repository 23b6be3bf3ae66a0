import { BadUserInput } from '../errors.ts';
import { builder } from '../graph/builder.ts';
import { ItemRef } from './item.graph.ts';
import { type Purchase, purchase } from './purchase.ts';

/** Longest code that is sent upstream. Real ones have some 36 characters. */
const MAX_CODE_LENGTH = 200;

const PurchaseRef = builder.objectRef<Purchase>('Purchase').implement({
  description: 'What a buyer’s purchase code stands for.',
  fields: (t) => ({
    code: t.exposeString('code', {
      nullable: false,
      description: 'The code that proves it.',
    }),
    licenseType: t.exposeString('licenseType', {
      description:
        'The license that was bought, in the upstream’s words; null when it does not say.',
    }),
    price: t.exposeFloat('price', {
      description: 'What was paid, in `currency`; null when the upstream does not say.',
    }),
    currency: t.exposeString('currency', {
      description: 'Currency code of `price`; null when the upstream does not say.',
    }),
    item: t.expose('item', {
      type: ItemRef,
      description:
        'What was bought; null when the upstream does not say. Comes with the purchase and costs nothing more.',
    }),
    supportedUntil: t.expose('supportedUntil', {
      type: 'DateTime',
      description: 'When support ends; null when there is none.',
    }),
    downloaded: t.exposeBoolean('downloaded', {
      description:
        'Whether the buyer has downloaded the item; null when the upstream does not say.',
    }),
    date: t.expose('date', {
      type: 'DateTime',
      description: 'When it was bought; null when the upstream does not say.',
    }),
  }),
});

builder.queryField('purchase', (t) =>
  t.field({
    type: PurchaseRef,
    description:
      'The purchase a code stands for; null when the code is not valid. Costs 1 marketplace call, then none while cached.',
    args: {
      code: t.arg.string({ required: true, description: 'The code, as the buyer received it.' }),
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
