import { builder, connectionOf, databaseId } from '../../graph/builder.ts';
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

builder.queryField('splashPages', (t) =>
  t.connection(
    {
      type: SplashPageRef,
      nullable: true,
      semanticNonNull: true,
      description:
        'The account’s custom splash pages. Costs 1 upstream call for each page not cached.',
      resolve: (_root, window, { links }) => links.connection(splashPages, window),
    },
    ...connectionOf('SplashPage', 'splash pages'),
  ),
);
