import type { ObjectRef } from '@pothos/core';
import { builder, type SchemaTypes } from '../graph/builder.ts';
import { type Described, type FieldsOf, shown } from '../graph/fields.ts';
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

/** The shown members of a row before an update, by their type, each with its description. */
type Before<R> = {
  readonly [T in 'String' | 'Int' | 'Boolean']?: Described<R, T>;
};

const FREE = 'Costs no upstream request.';

/**
 * Adds `previous` to a type. What it returns has no `id`: a client's cache would take it for the object as it is now,
 * and mix the two.
 */
function addPrevious<R extends object>(
  of: ObjectRef<SchemaTypes, unknown>,
  description: string,
  members: Before<R>,
  others: (t: FieldsOf<R>) => ReturnType<typeof shown> = () => ({}),
): void {
  const type = builder.objectRef<R>(`Previous${(of as { readonly name: string }).name}`).implement({
    description: `${description} ${FREE}`,
    fields: (t) => {
      const byType = Object.entries(members) as [keyof Before<R>, Record<string, string>][];
      const fields = byType.map(([name, texts]) => {
        const all = Object.entries(texts).map(([member, says]) => [member, `${says} ${FREE}`]);
        return shown(t, name, Object.fromEntries(all) as Described<R, typeof name>);
      });
      return Object.assign({}, ...fields, others(t));
    },
  });
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

addPrevious<Account>(AccountRef, 'The account as it was before an update.', {
  String: { email: 'Email address; null if the API did not provide it.' },
});

addPrevious<BrandedDomain>(BrandedDomainRef, 'A branded domain as it was before an update.', {
  String: {
    redirectRoot: 'URL to which the domain itself redirected; null or empty if it did not.',
    redirect404: 'URL to which unknown paths redirected; null or empty if they did not.',
  },
});

addPrevious<Campaign>(
  CampaignRef,
  'A campaign as it was before an update.',
  {
    String: { name: 'Name; null if it had none.' },
    Boolean: {
      public: 'Whether the list of links was public; null if the API did not provide it.',
    },
  },
  (t) => ({
    slug: t.string({
      description: `Last part of the rotator’s URL; null if it had no rotator. ${FREE}`,
      resolve: ({ rotatorUrl }) => slugOf(rotatorUrl),
    }),
  }),
);

addPrevious<Channel>(ChannelRef, 'A channel as it was before an update.', {
  String: {
    name: 'Name; null if it had none.',
    description: 'Text about the channel; null if it had none.',
    color: 'Color of the badge as `#RRGGBB`; null for the default color.',
  },
  Boolean: {
    starred: 'Whether the channel was a favorite; null if the API did not provide it.',
  },
});

addPrevious<Pixel>(PixelRef, 'A tracking pixel as it was before an update.', {
  String: {
    name: 'Name; null if it had none.',
    tag: 'The pixel’s ID at its provider; null if the API did not provide it.',
  },
});

addPrevious<QrCode>(
  QrCodeRef,
  'A QR code as it was before an update. The API does not return the content and the appearance of a QR code.',
  {
    String: { link: 'URL of the QR code; null if the API did not provide it.' },
    Int: { scans: 'Number of scans; null if the API did not provide it.' },
  },
);

addPrevious<User>(
  UserRef,
  'A user as it was before a subscription.',
  { Int: { planId: 'The `databaseId` of the plan; null if the user had none.' } },
  (t) => ({
    status: t.expose('status', {
      type: AccountStatusRef,
      description: `Kind of the account; null if the API sent an unknown value. ${FREE}`,
    }),
    expiresAt: t.expose('expires', {
      type: 'DateTime',
      description: `Time at which the plan expired; null if it did not expire. ${FREE}`,
    }),
  }),
);
