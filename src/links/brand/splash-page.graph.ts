import { builder, databaseId, renamedTo } from '../../graph/builder.ts';
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
    name: t.exposeString('name', {
      description: 'Name of the splash page; null if it has none.',
    }),
    createdAt: t.expose('date', {
      type: 'DateTime',
      description:
        'Creation time; null if the API does not provide it. Costs no extra upstream request.',
    }),
    date: t.expose('date', {
      type: 'DateTime',
      description: 'Creation time; null if the API does not provide it.',
      ...renamedTo('createdAt'),
    }),
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
