import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import { type BrandedDomain as BrandedDomainRow, domains } from './branded-domain.ts';

export const BrandedDomain = builder.objectRef<BrandedDomainRow>('BrandedDomain');

builder.node(BrandedDomain, {
  description: 'A domain of the account’s own, under which its short links can live.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(domains, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    domain: t.exposeString('domain', { description: 'The domain as a URL, with http or https.' }),
    redirectRoot: t.exposeString('redirectRoot', {
      description: 'URL that the bare domain redirects to; null or empty when it does not.',
    }),
    redirect404: t.exposeString('redirect404', {
      description: 'URL that unknown paths redirect to; null or empty for the service’s own page.',
    }),
  }),
});

builder.queryField('domains', (t) =>
  t.connection(
    {
      type: BrandedDomain,
      nullable: true,
      description: 'The account’s branded domains. Costs 1 upstream call for each page not kept.',
      resolve: (_root, window, { links }) => links.connection(domains, window),
    },
    ...connectionOf('BrandedDomain', 'branded domains'),
  ),
);
