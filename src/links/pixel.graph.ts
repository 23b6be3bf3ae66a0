import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import { type Pixel as PixelRow, pixels, type PixelType as Type } from './pixel.ts';

export const PixelType = builder.enumType('PixelType', {
  description: 'The network that a tracking pixel reports to.',
  values: {
    GTM: { description: 'Google Tag Manager.' },
    GA: { description: 'Google Analytics.' },
    FB: { description: 'Facebook.' },
    ADWORDS: { description: 'Google Ads, formerly AdWords.' },
    LINKEDIN: { description: 'LinkedIn.' },
    TWITTER: { description: 'Twitter, now X.' },
    ADROLL: { description: 'AdRoll.' },
    QUORA: { description: 'Quora.' },
    PINTEREST: { description: 'Pinterest.' },
    BING: { description: 'Microsoft Bing.' },
    SNAPCHAT: { description: 'Snapchat.' },
    REDDIT: { description: 'Reddit.' },
    TIKTOK: { description: 'TikTok.' },
  } satisfies Record<Type, { description: string }>,
});

export const Pixel = builder.objectRef<PixelRow>('Pixel');

builder.node(Pixel, {
  description: 'A tracking pixel that short links can carry.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(pixels, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    type: t.expose('type', {
      type: PixelType,
      description: 'The network; null for one that this graph does not know, see `typeName`.',
    }),
    typeName: t.exposeString('typeName', { description: 'The network as the upstream spells it.' }),
    name: t.exposeString('name', { description: 'What the account calls it.' }),
    tag: t.exposeString('tag', { description: 'The network’s own identifier of the pixel.' }),
    date: t.expose('date', { type: 'DateTime', description: 'When it was made.' }),
  }),
});

builder.queryField('pixels', (t) =>
  t.connection(
    {
      type: Pixel,
      nullable: true,
      description: 'The account’s tracking pixels. Costs 1 upstream call for each page not kept.',
      resolve: (_root, window, { links }) => links.connection(pixels, window),
    },
    ...connectionOf('Pixel', 'pixels'),
  ),
);
