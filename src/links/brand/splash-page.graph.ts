import { builder, databaseId } from '../../graph/builder.ts';
import { createdTime, shown } from '../../graph/fields.ts';
import { timeFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { type SplashPage, splashPages } from './splash-page.ts';

const SplashPageRef = builder.objectRef<SplashPage>('SplashPage');

builder.node(SplashPageRef, {
  description:
    'A custom page shown between a short link and its target page. The API cannot create, change or delete splash pages.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(splashPages, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shown(t, 'String', { name: 'Name of the splash page; null if it has none.' }),
    ...createdTime(t, ({ date }) => date),
  }),
});

listField('splashPages', SplashPageRef, splashPages, {
  rows: 'splash pages',
  description:
    'The account’s custom splash pages. Costs 1 upstream request per page if not cached.',
  search: { in: 'the name', texts: ({ name }) => [name] },
  order: {
    NAME: byText('name', 'Name of the splash page.'),
    CREATED_AT: byTime('date', 'Creation time.'),
    ID: byId,
  },
  filters: [
    timeFilter('createdAt', ({ date }) => date, 'Only splash pages created in this range of time.'),
  ],
});

lookupField('splashPage', SplashPageRef, splashPages, {
  what: 'A custom splash page',
  whose: 'The splash page’s',
});
