import type { ObjectRef } from '@pothos/core';
import { builder } from '../graph/builder.ts';
import { AccountRef, AccountStatusRef } from './account/account.graph.ts';
import type { Account } from './account/account.ts';
import { UserRef } from './account/user.graph.ts';
import type { User } from './account/user.ts';
import { BrandedDomainRef } from './brand/branded-domain.graph.ts';
import type { BrandedDomain } from './brand/branded-domain.ts';
import { PixelRef } from './brand/pixel.graph.ts';
import type { Pixel } from './brand/pixel.ts';
import { CampaignRef } from './content/campaign.graph.ts';
import type { Campaign } from './content/campaign.ts';
import { ChannelRef } from './content/channel.graph.ts';
import type { Channel } from './content/channel.ts';
import { QrCodeRef } from './content/qr-code.graph.ts';
import type { QrCode } from './content/qr-code.ts';
import { slugOf } from './slug.ts';

type PreviousTypes = typeof builder.$inferSchemaTypes;

/**
 * Adds `previous` to a type. What it returns has no `id`: a client's cache would take it for the object as it is now,
 * and mix the two.
 */
function addPrevious<Shape, R extends object>(
  of: ObjectRef<PreviousTypes, Shape>,
  type: ObjectRef<PreviousTypes, R>,
): void {
  builder.objectField(of, 'previous', (t) =>
    t.field({
      type,
      nullable: true,
      description:
        'In the result of an update: the state before it, as it was cached; null if it was not cached. Null everywhere else. Costs no upstream request.',
      resolve: (row) => ((row as { readonly previous?: R | null }).previous ?? null) as never,
    }),
  );
}

const PreviousAccountRef = builder.objectRef<Account>('PreviousAccount').implement({
  description: 'The account as it was before an update. Costs no upstream request.',
  fields: (t) => ({
    email: t.exposeString('email', {
      description: 'Email address; null if the API did not provide it. Costs no upstream request.',
    }),
  }),
});
addPrevious(AccountRef, PreviousAccountRef);

const PreviousDomainRef = builder.objectRef<BrandedDomain>('PreviousBrandedDomain').implement({
  description: 'A branded domain as it was before an update. Costs no upstream request.',
  fields: (t) => ({
    redirectRoot: t.exposeString('redirectRoot', {
      description:
        'URL to which the domain itself redirected; null or empty if it did not. Costs no upstream request.',
    }),
    redirect404: t.exposeString('redirect404', {
      description:
        'URL to which unknown paths redirected; null or empty if they did not. Costs no upstream request.',
    }),
  }),
});
addPrevious(BrandedDomainRef, PreviousDomainRef);

const PreviousCampaignRef = builder.objectRef<Campaign>('PreviousCampaign').implement({
  description: 'A campaign as it was before an update. Costs no upstream request.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Name; null if it had none. Costs no upstream request.',
    }),
    public: t.exposeBoolean('public', {
      description:
        'Whether the list of links was public; null if the API did not provide it. Costs no upstream request.',
    }),
    slug: t.string({
      description:
        'Last part of the rotator’s URL; null if it had no rotator. Costs no upstream request.',
      resolve: ({ rotatorUrl }) => slugOf(rotatorUrl),
    }),
  }),
});
addPrevious(CampaignRef, PreviousCampaignRef);

const PreviousChannelRef = builder.objectRef<Channel>('PreviousChannel').implement({
  description: 'A channel as it was before an update. Costs no upstream request.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Name; null if it had none. Costs no upstream request.',
    }),
    description: t.exposeString('description', {
      description: 'Text about the channel; null if it had none. Costs no upstream request.',
    }),
    color: t.exposeString('color', {
      description:
        'Color of the badge as `#RRGGBB`; null for the default color. Costs no upstream request.',
    }),
    starred: t.exposeBoolean('starred', {
      description:
        'Whether the channel was a favorite; null if the API did not provide it. Costs no upstream request.',
    }),
  }),
});
addPrevious(ChannelRef, PreviousChannelRef);

const PreviousPixelRef = builder.objectRef<Pixel>('PreviousPixel').implement({
  description: 'A tracking pixel as it was before an update. Costs no upstream request.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Name; null if it had none. Costs no upstream request.',
    }),
    tag: t.exposeString('tag', {
      description:
        'The pixel’s ID at its provider; null if the API did not provide it. Costs no upstream request.',
    }),
  }),
});
addPrevious(PixelRef, PreviousPixelRef);

const PreviousQrCodeRef = builder.objectRef<QrCode>('PreviousQrCode').implement({
  description:
    'A QR code as it was before an update. The API does not return the content and the appearance of a QR code. Costs no upstream request.',
  fields: (t) => ({
    link: t.exposeString('link', {
      description:
        'URL of the QR code; null if the API did not provide it. Costs no upstream request.',
    }),
    scans: t.exposeInt('scans', {
      description:
        'Number of scans; null if the API did not provide it. Costs no upstream request.',
    }),
  }),
});
addPrevious(QrCodeRef, PreviousQrCodeRef);

const PreviousUserRef = builder.objectRef<User>('PreviousUser').implement({
  description: 'A user as it was before a subscription. Costs no upstream request.',
  fields: (t) => ({
    planId: t.exposeInt('planId', {
      description:
        'The `databaseId` of the plan; null if the user had none. Costs no upstream request.',
    }),
    status: t.expose('status', {
      type: AccountStatusRef,
      description:
        'Kind of the account; null if the API sent an unknown value. Costs no upstream request.',
    }),
    expiresAt: t.expose('expires', {
      type: 'DateTime',
      description:
        'Time at which the plan expired; null if it did not expire. Costs no upstream request.',
    }),
  }),
});
addPrevious(UserRef, PreviousUserRef);
