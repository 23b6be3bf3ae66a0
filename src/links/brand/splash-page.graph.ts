import { builder, databaseId, listField } from '../../graph/builder.ts';
import { type SplashPage, splashPages } from './splash-page.ts';

const SplashPageRef = builder.objectRef<SplashPage>('SplashPage');

builder.node(SplashPageRef, {
  description: 'A page of the account that visitors see between a short link and its target.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(splashPages, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.exposeString('name', {
      description: 'What the account calls it; null when it has no name.',
    }),
    date: t.expose('date', {
      type: 'DateTime',
      description: 'When it was made; null when the upstream does not say.',
    }),
  }),
});

listField('splashPages', SplashPageRef, splashPages, {
  rows: 'splash pages',
  description: 'The account’s custom splash pages. Costs 1 upstream call for each page not cached.',
});
