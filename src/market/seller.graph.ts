import { builder } from '../graph/builder.ts';
import { shown } from '../graph/fields.ts';
import { historyArguments, historyCost, historyType, spanOf } from '../graph/history.graph.ts';
import { type Seller, type SellerProfile, type SocialLink, seller } from './seller.ts';

const SocialLinkRef = builder.objectRef<SocialLink>('SocialLink').implement({
  description: 'A social network profile of the seller.',
  fields: (t) =>
    shown(t, 'String!', {
      network: 'Name of the social network as the API spells it.',
      path: 'Path or URL of the profile, as the seller entered it.',
    }),
});

const SellerProfileRef = builder.objectRef<SellerProfile>('SellerProfile').implement({
  description: 'The public profile of a seller.',
  fields: (t) => ({
    ...shown(t, 'String', {
      heading: 'Headline; null if there is none.',
      description: 'Description of the seller; null if there is none.',
      contactEmail: 'Email address for buyers; null if there is none.',
    }),
    socialLinks: t.field({
      type: [SocialLinkRef],
      nullable: false,
      description: 'Social network profiles; empty if there are none.',
      resolve: (profile) => [...profile.socialLinks],
    }),
    ...shown(t, 'String', {
      avatar: 'URL of the profile picture; null if there is none.',
      cover: 'URL of the cover image; null if there is none.',
    }),
  }),
});

/** A gateway has one key of the marketplace, so that there is one seller; the API gives no id. */
const SELLER_ID = 1;

/** The type of `Query.seller`. */
const SellerRef = builder.objectRef<Seller>('Seller');

builder.node(SellerRef, {
  description: 'The marketplace account that owns the gateway’s API key.',
  id: {
    description:
      'Opaque, globally unique ID: a gateway has one seller. Costs no extra upstream request.',
    resolve: () => SELLER_ID,
    parse: Number,
  },
  loadWithoutCache: (id, { market }) => (id === SELLER_ID ? market.read(seller) : null),
  fields: (t) => ({
    ...shown(t, 'String', {
      firstName: 'First name; null if the API does not provide it.',
      lastName: 'Last name; null if the API does not provide it.',
      fullName: 'Full name; null if the API does not provide it.',
      username: 'User name on the marketplace; null if the API does not provide it.',
      email: 'Private email address of the account; null if the API does not provide it.',
    }),
    balance: t.exposeFloat('balance', {
      description:
        'Balance that can be paid out, in `currency`; null if the API does not provide it.',
    }),
    currency: t.exposeString('currency', {
      description: 'Currency code of `balance`; null if the API does not provide it.',
    }),
    profile: t.expose('profile', {
      type: SellerProfileRef,
      description: 'Public profile; null if the seller has none.',
    }),
    ...shown(t, 'DateTime', {
      registeredAt: 'Registration time; null if the API does not provide it.',
    }),
  }),
});

builder.queryField('seller', (t) =>
  t.field({
    type: SellerRef,
    semanticNonNull: true,
    description:
      'The seller that owns the gateway’s API key. Costs 1 upstream request if not cached.',
    resolve: (_root, _args, { market }) => market.read(seller),
  }),
);

builder.objectField(SellerRef, 'balanceHistory', (t) =>
  t.field({
    ...historyType,
    description: `\`balance\` over time, in \`currency\`: a new currency begins a new history. ${historyCost}`,
    args: historyArguments(t.arg),
    resolve: ({ currency }, args, { market }) =>
      market.history({ count: 'balance', id: 0, origin: currency }, spanOf(args)),
  }),
);
