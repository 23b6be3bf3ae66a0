import { builder, databaseId } from '../../graph/builder.ts';
import { changeField, deletion, expectedOf, updateField } from '../../graph/change.ts';
import { createdTime, enumOf, lazily, shownLazily } from '../../graph/fields.ts';
import { choiceFilter, timeFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import type { Known } from '../../upstream/request.ts';
import {
  createPixel,
  deletePixel,
  type Pixel,
  type PixelType,
  pixels,
  updatePixel,
} from './pixel.ts';

const PixelTypeRef = enumOf<PixelType>('PixelType', 'The provider of a tracking pixel.', {
  GTM: 'Google Tag Manager.',
  GA: 'Google Analytics.',
  FB: 'Facebook.',
  ADWORDS: 'Google Ads, formerly AdWords.',
  LINKEDIN: 'LinkedIn.',
  TWITTER: 'Twitter, now X.',
  ADROLL: 'AdRoll.',
  QUORA: 'Quora Ads.',
  PINTEREST: 'Pinterest Ads.',
  BING: 'Microsoft Bing.',
  SNAPCHAT: 'Snapchat Ads.',
  REDDIT: 'Reddit Ads.',
  TIKTOK: 'TikTok.',
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
    ...shownLazily(t, pixels, 'String', {
      typeName: 'Name of the provider as the API spells it; null if the API does not provide it.',
      name: 'Name of the pixel; null if it has none.',
      tag: 'The pixel’s ID at its provider; null if the API does not provide it.',
    }),
    ...createdTime(t, lazily(pixels, 'date')),
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

const expectedPixel = expectedOf<Pixel>('Pixel', 'a tracking pixel', {
  name: { type: 'String', description: 'Display name of the pixel.', of: ({ name }) => name },
  tag: { type: 'String', description: 'The pixel’s ID at its provider.', of: ({ tag }) => tag },
});

builder.mutationFields((t) => ({
  createPixel: changeField(t, PixelRef, {
    result: 'CreatePixelResult',
    description:
      'Creates a tracking pixel. Costs 1 upstream request, plus a read of the pixel if `date` is selected.',
    input: [CreatePixelInput, 'Values of the new pixel.'],
    check(checks, input) {
      checks.notBlank('name', input.name);
      checks.notBlank('tag', input.tag);
    },
    send: (input, { links }) => links.write(createPixel(input)),
  }),
  updatePixel: updateField(t, PixelRef, pixels, {
    result: 'UpdatePixelResult',
    description:
      'Changes a tracking pixel. Costs 1 upstream request, plus a read of the pixel for selected fields that the input does not contain.',
    input: [UpdatePixelInput, 'The changes.'],
    expected: expectedPixel,
    check(checks, input) {
      checks.notBlank('name', input.name);
      checks.notBlank('tag', input.tag);
    },
    write: updatePixel,
  }),
  deletePixel: deletion(t, 'Pixel', deletePixel, {
    result: 'DeletePixelResult',
    description: 'Deletes a tracking pixel. Costs 1 upstream request.',
    which: whichPixel,
  }),
}));
