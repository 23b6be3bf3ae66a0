import { builder } from '../../graph/builder.ts';
import { historyArguments, historyCost, historyType, spanOf } from '../../graph/history.graph.ts';
import { FileRef } from '../content/file.graph.ts';

builder.objectField(FileRef, 'downloadHistory', (t) =>
  t.field({
    ...historyType,
    description: `\`downloads\` over time. ${historyCost}`,
    args: historyArguments(t.arg),
    resolve: ({ date, id }, args, { links }) =>
      links.history({ count: 'downloads', id, origin: date }, spanOf(args)),
  }),
);
