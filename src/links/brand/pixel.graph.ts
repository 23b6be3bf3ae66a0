import { builder, databaseId, lazily, listField } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { deletion, resultOf } from '../../graph/result.ts';
import type { Known } from '../../upstream/request.ts';
import {
  createPixel,
  deletePixel,
  type Pixel,
  type PixelType,
  pixels,
  updatePixel,
} from './pixel.ts';

const PixelTypeRef = builder.enumType('PixelType', {
  description: 'The network that a tracking pixel reports to.',
  values: {
    GTM: { description: 'Google Tag Manager.' },
    GA: { description: 'Google Analytics.' },
    FB: { description: 'Facebook.' },
    ADWORDS: { description: 'Google Ads, formerly AdWords.' },
    LINKEDIN: { description: 'LinkedIn.' },
    TWITTER: { description: 'Twitter, now X.' },
    ADROLL: { description: 'AdRoll.' },
    QUORA: { description: 'Quora Ads.' },
    PINTEREST: { description: 'Pinterest Ads.' },
    BING: { description: 'Microsoft Bing.' },
    SNAPCHAT: { description: 'Snapchat Ads.' },
    REDDIT: { description: 'Reddit Ads.' },
    TIKTOK: { description: 'TikTok.' },
  } satisfies Record<PixelType, { description: string }>,
});

const PixelRef = builder.objectRef<Known<Pixel>>('Pixel');

builder.node(PixelRef, {
  description: 'A tracking pixel that short links can carry.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(pixels, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    type: t.field({
      type: PixelTypeRef,
      description: 'The network; null for one that this graph does not know, see `typeName`.',
      resolve: lazily(pixels, 'type'),
    }),
    typeName: t.string({
      description: 'The network as the upstream spells it; null when it does not say.',
      resolve: lazily(pixels, 'typeName'),
    }),
    name: t.string({
      description: 'What the account calls it; null when it has no name.',
      resolve: lazily(pixels, 'name'),
    }),
    tag: t.string({
      description:
        'The network’s own identifier of the pixel; null when the upstream does not say.',
      resolve: lazily(pixels, 'tag'),
    }),
    date: t.field({
      type: 'DateTime',
      description: 'When it was made; null when the upstream does not say.',
      resolve: lazily(pixels, 'date'),
    }),
  }),
});

listField('pixels', PixelRef, pixels, {
  rows: 'pixels',
  description: 'The account’s tracking pixels. Costs 1 upstream call for each page not cached.',
});

const whichPixel = 'Which pixel: global id, or the upstream’s integer.';

const CreatePixelInput = builder.inputType('CreatePixelInput', {
  description: 'A tracking pixel to make.',
  fields: (t) => ({
    type: t.field({
      type: PixelTypeRef,
      required: true,
      description: 'The network that it reports to; it cannot be changed later.',
    }),
    name: t.string({ required: true, description: 'What to call it.' }),
    tag: t.string({ required: true, description: 'The network’s own identifier of the pixel.' }),
  }),
});

const UpdatePixelInput = builder.inputType('UpdatePixelInput', {
  description: 'What to change of a pixel. A name that is left out, or null, stays as it is.',
  fields: (t) => ({
    id: t.id({ required: true, description: whichPixel }),
    name: t.string({ description: 'What to call it.' }),
    tag: t.string({
      required: true,
      description: 'The network’s own identifier of the pixel; the upstream always wants it.',
    }),
  }),
});

builder.mutationFields((t) => ({
  createPixel: t.field({
    ...resultOf(PixelRef, 'CreatePixelResult'),
    description: 'Makes a tracking pixel. Costs 1 upstream call; its `date` is read when selected.',
    args: {
      input: t.arg({ type: CreatePixelInput, required: true, description: 'What to make.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      checks.notBlank('name', input.name);
      checks.notBlank('tag', input.tag);
      checks.done();
      return links.write(createPixel(input));
    },
  }),
  updatePixel: t.field({
    ...resultOf(PixelRef, 'UpdatePixelResult'),
    description:
      'Changes a tracking pixel. Costs 1 upstream call; what was not given is read when selected.',
    args: {
      input: t.arg({ type: UpdatePixelInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      const id = checks.id('id', 'Pixel', input.id);
      checks.notBlank('name', input.name);
      checks.notBlank('tag', input.tag);
      checks.done();
      return links.write(updatePixel(id, input));
    },
  }),
  deletePixel: deletion(t, 'Pixel', deletePixel, {
    result: 'DeletePixelResult',
    description: 'Removes a tracking pixel. Costs 1 upstream call.',
    which: whichPixel,
  }),
}));
