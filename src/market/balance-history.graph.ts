import { builder } from '../graph/builder.ts';
import { historyArguments, historyCost, historyType, spanOf } from '../graph/history.graph.ts';
import { SellerRef } from './seller.graph.ts';

builder.objectField(SellerRef, 'balanceHistory', (t) =>
  t.field({
    ...historyType,
    description: `\`balance\` over time, in \`currency\`: a new currency begins a new history. ${historyCost}`,
    args: historyArguments(t.arg),
    resolve: ({ currency }, args, { market }) =>
      market.history({ count: 'balance', id: 0, origin: currency }, spanOf(args)),
  }),
);
