import { builder } from '../graph/builder.ts';
import { type Seller, type SellerProfile, type SocialLink, seller } from './seller.ts';

const SocialLinkRef = builder.objectRef<SocialLink>('SocialLink').implement({
  description: 'Where the seller is found on a social network.',
  fields: (t) => ({
    network: t.exposeString('network', {
      nullable: false,
      description: 'The network, as the upstream spells it.',
    }),
    path: t.exposeString('path', {
      nullable: false,
      description: 'The seller’s path or address there, as the seller entered it.',
    }),
  }),
});

const SellerProfileRef = builder.objectRef<SellerProfile>('SellerProfile').implement({
  description: 'What a seller shows the public.',
  fields: (t) => ({
    heading: t.exposeString('heading', {
      description: 'One line about the seller; null when there is none.',
    }),
    description: t.exposeString('description', {
      description: 'More about the seller; null when there is none.',
    }),
    contactEmail: t.exposeString('contactEmail', {
      description: 'Address for buyers; null when there is none.',
    }),
    socialLinks: t.field({
      type: [SocialLinkRef],
      nullable: false,
      description: 'Social networks the seller names; empty when none.',
      resolve: (profile) => [...profile.socialLinks],
    }),
    avatar: t.exposeString('avatar', {
      description: 'URL of the profile picture; null when there is none.',
    }),
    cover: t.exposeString('cover', {
      description: 'URL of the picture behind the profile; null when there is none.',
    }),
  }),
});

const SellerRef = builder.objectRef<Seller>('Seller').implement({
  description: 'The marketplace account whose API key this gateway uses.',
  fields: (t) => ({
    firstName: t.exposeString('firstName', {
      description: 'Given name; null when the upstream does not say.',
    }),
    lastName: t.exposeString('lastName', {
      description: 'Family name; null when the upstream does not say.',
    }),
    fullName: t.exposeString('fullName', {
      description: 'Whole name, as the upstream writes it; null when it does not say.',
    }),
    username: t.exposeString('username', {
      description: 'Name on the marketplace; null when the upstream does not say.',
    }),
    email: t.exposeString('email', {
      description: 'Address of the account, not for buyers; null when the upstream does not say.',
    }),
    balance: t.exposeFloat('balance', {
      description:
        'What the seller can be paid, in `currency`; null when the upstream does not say.',
    }),
    currency: t.exposeString('currency', {
      description: 'Currency code of `balance`; null when the upstream does not say.',
    }),
    profile: t.expose('profile', {
      type: SellerProfileRef,
      description: 'How the seller describes the shop; null without a description.',
    }),
    registeredAt: t.expose('registeredAt', {
      type: 'DateTime',
      description: 'When the account was opened; null when the upstream does not say.',
    }),
  }),
});

builder.queryField('seller', (t) =>
  t.field({
    type: SellerRef,
    semanticNonNull: true,
    description:
      'The seller this gateway works for. Costs 1 marketplace call, then none while cached.',
    resolve: (_root, _args, { market }) => market.read(seller),
  }),
);
