import { BadUserInput, GatewayError } from '../errors.ts';
import { builder } from '../graph/builder.ts';
import type { GraphContext } from '../graph/context.ts';
import { createdTime, shown } from '../graph/fields.ts';
import { decodeSealed, encodeSealed } from '../graph/ids/global-id.ts';
import { countRefused } from '../graph/ids/refused.ts';
import type { AtOnce } from '../scheduling/at-once.ts';
import { ItemRef } from './item.graph.ts';
import { type Purchase, purchase } from './purchase.ts';

/** Longest code that is sent upstream. Real ones have some 36 characters. */
const MAX_CODE_LENGTH = 200;

const PurchaseRef = builder.objectRef<Purchase>('Purchase');

builder.node(PurchaseRef, {
  description:
    'A purchase, identified by its purchase code. The code is a secret of the buyer, so `id` contains it encrypted: `node` accepts the `id` as long as the gateway uses the same API key of the marketplace.',
  id: {
    description:
      'Opaque, globally unique ID, which contains the code encrypted. Costs no extra upstream request.',
    resolve: ({ code, requested = code }, _args, { market }) =>
      encodeSealed(requested, market.seal),
    parse: (part, { market }) => decodeSealed(part, market.seal),
  },
  loadWithoutCache: (code, { market }) => (code === null ? null : market.read(purchase(code))),
  fields: (t) => ({
    ...shown(t, 'String!', { code: 'The code that the buyer received.' }),
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
    ...createdTime(t, ({ date }) => date, 'Time of the purchase'),
  }),
});

/**
 * The code as it is sent upstream, without blanks around it.
 * @throws BadUserInput `BAD_USER_INPUT` for an empty or a very long one.
 */
function codeOf(argument: string): string {
  const code = argument.trim();
  if (code !== '' && code.length <= MAX_CODE_LENGTH) return code;
  throw new BadUserInput(`A purchase code must have 1 to ${MAX_CODE_LENGTH} characters.`);
}

builder.queryFields((t) => ({
  purchase: t.field({
    type: PurchaseRef,
    description:
      'The purchase with this code; null if the code is not valid. Costs 1 upstream request if not cached.',
    args: {
      code: t.arg.string({
        required: true,
        description: 'The purchase code that the buyer received.',
      }),
    },
    resolve: (_root, { code }, { market }) => market.read(purchase(codeOf(code))),
  }),
  purchases: t.field({
    type: [PurchaseRef],
    nullable: { list: false, items: true },
    description:
      'The purchases with these codes, in the order of the codes; null for each code that is not valid. For a code that cannot be looked up, the result is null, with an error at its index. Costs 1 upstream request for each distinct code that is not cached; if they do not fit into what the operation may spend, none of them is sent.',
    args: {
      codes: t.arg.stringList({
        required: true,
        description:
          'The purchase codes that buyers received, at most 500. A repeated code costs nothing.',
      }),
    },
    resolve: (_root, { codes }, context) => {
      const found = new Map<string, unknown>();
      for (const code of codes) {
        if (!found.has(code)) found.set(code, tryPurchase(code, context));
      }
      return codes.map((code) => found.get(code)) as AtOnce<Purchase | null>[];
    },
  }),
}));

/**
 * The purchase of one of several codes, or the error in its place: one wrong code does not affect the others.
 * @throws BadUserInput `BAD_USER_INPUT` if more than 500 codes of the operation were rejected.
 */
function tryPurchase(code: string, context: GraphContext): unknown {
  try {
    return context.market.read(purchase(codeOf(code)));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error instanceof BadUserInput) countRefused(context, error);
    return error;
  }
}
