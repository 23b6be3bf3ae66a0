import { builder } from '../graph/builder.ts';
import { color, expectationOf, plain } from '../graph/expectation.ts';
import type { BrandedDomain } from './brand/branded-domain.ts';
import type { Pixel } from './brand/pixel.ts';
import type { Campaign } from './content/campaign.ts';
import type { Channel } from './content/channel.ts';
import { slugOf } from './slug.ts';

/** The description of the argument `expected`. */
export const expectedDescription =
  'The values that the object must have; otherwise the result is `Conflict`, and nothing is changed. Other changes of the object through the gateway wait meanwhile.';

/** The cost of a comparison, for the description of an update. */
export const expectedCost =
  'With `expected`, plus a read of the list up to the page with the object if that is not cached; a `Conflict` costs only this read.';

const describe = (what: string): string =>
  `The values that ${what} must have for an update. Omitted members are not compared; null expects that there is no value. At least one member is required.`;

/** The type of the argument `expected` of `updateDomain`. */
export const ExpectedBrandedDomain = builder.inputType('ExpectedBrandedDomain', {
  description: describe('a branded domain'),
  fields: (t) => ({
    redirectRoot: t.string({ description: 'URL to which the domain itself redirects.' }),
    redirect404: t.string({ description: 'URL to which unknown paths redirect.' }),
  }),
});

/** Checks the argument, and makes its expectation. */
export const expectedDomain = expectationOf<BrandedDomain>('BrandedDomain', {
  redirectRoot: plain(({ redirectRoot }) => redirectRoot),
  redirect404: plain(({ redirect404 }) => redirect404),
});

/** The type of the argument `expected` of `updateCampaign`. */
export const ExpectedCampaign = builder.inputType('ExpectedCampaign', {
  description: describe('a campaign'),
  fields: (t) => ({
    name: t.string({ description: 'Display name of the campaign.' }),
    public: t.boolean({ description: 'Whether the list of its links is public.' }),
    slug: t.string({ description: 'Last part of the rotator’s URL.' }),
  }),
});

/** Checks the argument, and makes its expectation. */
export const expectedCampaign = expectationOf<Campaign>('Campaign', {
  name: plain(({ name }) => name),
  public: plain((row) => row.public),
  slug: plain(({ rotatorUrl }) => slugOf(rotatorUrl)),
});

/** The type of the argument `expected` of `updateChannel`. */
export const ExpectedChannel = builder.inputType('ExpectedChannel', {
  description: describe('a channel'),
  fields: (t) => ({
    name: t.string({ description: 'Display name of the channel.' }),
    description: t.string({ description: 'Text about the channel.' }),
    color: t.string({ description: 'Color of the badge, as `#RRGGBB` or `#RGB`.' }),
    starred: t.boolean({ description: 'Whether the channel is a favorite.' }),
  }),
});

/** Checks the argument, and makes its expectation. */
export const expectedChannel = expectationOf<Channel>('Channel', {
  name: plain(({ name }) => name),
  description: plain(({ description }) => description),
  color: color((row) => row.color),
  starred: plain(({ starred }) => starred),
});

/** The type of the argument `expected` of `updatePixel`. */
export const ExpectedPixel = builder.inputType('ExpectedPixel', {
  description: describe('a tracking pixel'),
  fields: (t) => ({
    name: t.string({ description: 'Display name of the pixel.' }),
    tag: t.string({ description: 'The pixel’s ID at its provider.' }),
  }),
});

/** Checks the argument, and makes its expectation. */
export const expectedPixel = expectationOf<Pixel>('Pixel', {
  name: plain(({ name }) => name),
  tag: plain(({ tag }) => tag),
});
