import { builder } from '../../graph/builder.ts';
import { historyArguments, historyCost, historyType, spanOf } from '../../graph/history.graph.ts';
import { QrCodeRef } from '../content/qr-code.graph.ts';

builder.objectField(QrCodeRef, 'scanHistory', (t) =>
  t.field({
    ...historyType,
    description: `\`scans\` over time. ${historyCost}`,
    args: historyArguments(t.arg),
    resolve: ({ date, id }, args, { links }) =>
      links.history({ count: 'scans', id, origin: date }, spanOf(args)),
  }),
);
