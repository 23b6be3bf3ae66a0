import { builder, databaseId } from '../../graph/builder.ts';
import { createdTime, shown } from '../../graph/fields.ts';
import { textFilter, timeFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { type CtaOverlay, overlays } from './cta-overlay.ts';

const CtaOverlayRef = builder.objectRef<CtaOverlay>('CtaOverlay');

builder.node(CtaOverlayRef, {
  description:
    'A call-to-action overlay on the target page of a short link. The API cannot create, change or delete overlays.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(overlays, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shown(t, 'String', {
      type: 'Type of the overlay, as the API names it, e.g. `message` or `contact`; null if it has none.',
      name: 'Name of the overlay; null if it has none.',
    }),
    ...createdTime(t, ({ date }) => date),
  }),
});

listField('overlays', CtaOverlayRef, overlays, {
  rows: 'overlays',
  description:
    'The account’s call-to-action overlays. Costs 1 upstream request per page if not cached.',
  search: { in: 'name or type', texts: ({ name, type }) => [name, type] },
  order: {
    NAME: byText('name', 'Name of the overlay.'),
    TYPE: byText('type', 'Type of the overlay as the API names it.'),
    CREATED_AT: byTime('date', 'Creation time.'),
    ID: byId,
  },
  filters: [
    textFilter(
      'type',
      ({ type }) => [type],
      'Only overlays of this type, as the API names it. Not case-sensitive.',
    ),
    timeFilter('createdAt', ({ date }) => date, 'Only overlays created in this range of time.'),
  ],
});

lookupField('overlay', CtaOverlayRef, overlays, {
  what: 'A call-to-action overlay',
  whose: 'The overlay’s',
});
