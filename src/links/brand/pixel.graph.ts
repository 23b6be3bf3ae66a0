import { builder, databaseId, lazily, renamedTo } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { choiceFilter, timeFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { deletion, resultOf, updateResultOf } from '../../graph/result.ts';
import type { Known } from '../../upstream/request.ts';
import {
  ExpectedPixel,
  expectedCost,
  expectedDescription,
  expectedPixel,
} from '../expected.graph.ts';
import {
  createPixel,
  deletePixel,
  type Pixel,
  type PixelType,
  pixels,
  updatePixel,
} from './pixel.ts';

const PixelTypeRef = builder.enumType('PixelType', {
  description: 'The provider of a tracking pixel.',
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

/** The type of `Query.pixels`. */
export const PixelRef = builder.objectRef<Known<Pixel>>('Pixel');

builder.node(PixelRef, {
  description: 'A tracking pixel that short links can include.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(pixels, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    type: t.field({
      type: PixelTypeRef,
      description: 'The provider; null if `PixelType` does not contain it: see `typeName`.',
      resolve: lazily(pixels, 'type'),
    }),
    typeName: t.string({
      description:
        'Name of the provider as the API spells it; null if the API does not provide it.',
      resolve: lazily(pixels, 'typeName'),
    }),
    name: t.string({
      description: 'Name of the pixel; null if it has none.',
      resolve: lazily(pixels, 'name'),
    }),
    tag: t.string({
      description: 'The pixel’s ID at its provider; null if the API does not provide it.',
      resolve: lazily(pixels, 'tag'),
    }),
    createdAt: t.field({
      type: 'DateTime',
      description:
        'Creation time; null if the API does not provide it. Costs no extra upstream request.',
      resolve: lazily(pixels, 'date'),
    }),
    date: t.field({
      type: 'DateTime',
      description: 'Creation time; null if the API does not provide it.',
      resolve: lazily(pixels, 'date'),
      ...renamedTo('createdAt'),
    }),
  }),
});

listField('pixels', PixelRef, pixels, {
  rows: 'pixels',
  description: 'The account’s tracking pixels. Costs 1 upstream request per page if not cached.',
  search: { in: 'name or tag', texts: ({ name, tag }) => [name, tag] },
  order: {
    NAME: byText('name', 'Name of the pixel.'),
    TYPE: byText('typeName', 'Name of the provider as the API spells it.'),
    CREATED_AT: byTime('date', 'Creation time.'),
    ID: byId,
  },
  filters: [
    choiceFilter('type', PixelTypeRef, ({ type }) => type, 'Only pixels of this provider.'),
    timeFilter('createdAt', ({ date }) => date, 'Only pixels created in this range of time.'),
  ],
});

lookupField('pixel', PixelRef, pixels, { what: 'A tracking pixel', whose: 'The pixel’s' });

const whichPixel = 'The pixel’s `id` or `databaseId`.';

const CreatePixelInput = builder.inputType('CreatePixelInput', {
  description: 'The tracking pixel to create.',
  fields: (t) => ({
    type: t.field({
      type: PixelTypeRef,
      required: true,
      description: 'The provider. It cannot be changed later.',
    }),
    name: t.string({ required: true, description: 'Display name of the pixel.' }),
    tag: t.string({ required: true, description: 'The pixel’s ID at its provider.' }),
  }),
});

const UpdatePixelInput = builder.inputType('UpdatePixelInput', {
  description: 'Changes to a pixel. An omitted or null name stays unchanged.',
  fields: (t) => ({
    id: t.id({ required: true, description: whichPixel }),
    name: t.string({ description: 'Display name of the pixel.' }),
    tag: t.string({
      required: true,
      description: 'The pixel’s ID at its provider. The API always requires it.',
    }),
  }),
});

builder.mutationFields((t) => ({
  createPixel: t.field({
    ...resultOf(PixelRef, 'CreatePixelResult'),
    description:
      'Creates a tracking pixel. Costs 1 upstream request, plus a read of the pixel if `date` is selected.',
    args: {
      input: t.arg({
        type: CreatePixelInput,
        required: true,
        description: 'Values of the new pixel.',
      }),
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
    ...updateResultOf(PixelRef, 'UpdatePixelResult'),
    description: `Changes a tracking pixel. Costs 1 upstream request, plus a read of the pixel for selected fields that the input does not contain. ${expectedCost}`,
    args: {
      input: t.arg({ type: UpdatePixelInput, required: true, description: 'The changes.' }),
      expected: t.arg({ type: ExpectedPixel, description: expectedDescription }),
    },
    resolve: (_root, { input, expected }, { links }) => {
      const checks = new InputChecks('input');
      const id = checks.id('id', 'Pixel', input.id);
      checks.notBlank('name', input.name);
      checks.notBlank('tag', input.tag);
      const expectation = expectedPixel(checks, expected);
      checks.done();
      return links.update(pixels, id, updatePixel(id, input), expectation);
    },
  }),
  deletePixel: deletion(t, 'Pixel', deletePixel, {
    result: 'DeletePixelResult',
    description: 'Deletes a tracking pixel. Costs 1 upstream request.',
    which: whichPixel,
  }),
}));
