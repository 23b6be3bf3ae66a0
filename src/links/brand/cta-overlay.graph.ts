import { builder, databaseId, listField } from '../../graph/builder.ts';
import { type CtaOverlay, overlays } from './cta-overlay.ts';

const CtaOverlayRef = builder.objectRef<CtaOverlay>('CtaOverlay');

builder.node(CtaOverlayRef, {
  description: 'A call to action that is laid over the page a short link leads to.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(overlays, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    type: t.exposeString('type', {
      description:
        'What the overlay shows, in the upstream’s words, e.g. `message` or `contact`; null when it has none.',
    }),
    name: t.exposeString('name', {
      description: 'What the account calls it; null when it has no name.',
    }),
    date: t.expose('date', {
      type: 'DateTime',
      description: 'When it was made; null when the upstream does not say.',
    }),
  }),
});

listField('overlays', CtaOverlayRef, overlays, {
  rows: 'overlays',
  description:
    'The account’s call-to-action overlays. Costs 1 upstream call for each page not cached.',
});
