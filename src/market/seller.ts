import { entries, inner, isBlank, objects, readInner } from '../upstream/decode/compound.ts';
import { openSingle } from '../upstream/decode/envelope.ts';
import {
  asMap,
  type Decoded,
  DecodeError,
  decodeText,
  isEmpty,
  type JsonObject,
  number,
  parseText,
  readField,
  readFields,
  text,
  time,
} from '../upstream/decode/fields.ts';
import type { Read } from '../upstream/request.ts';

/** One entry of a profile: a network, and the path or address of the seller there. */
export interface SocialLink {
  readonly network: string;
  readonly path: string;
}

/** A map from network to path; an empty path is omitted. */
const linksByNetwork = entries('social_links', (network, value): SocialLink | null | undefined => {
  const path = isBlank(value) ? '' : parseText(value)?.trim();
  return path ? { network: decodeText(network), path } : path === undefined ? undefined : null;
});

const linkFields = { network: text('network', 'name'), path: text('path', 'link', 'url') };

/** A list of objects with both. */
const listedLinks = objects('social_links', (object): SocialLink | null => {
  const { network, path } = readFields(linkFields, object);
  return network && path ? { network, path } : null;
});

const profileFields = {
  heading: text('heading'),
  description: text('description'),
};

const contactFields = { contactEmail: text('email') };

/** URLs. */
const mediaFields = { avatar: text('avatar'), cover: text('cover') };

/** The public profile of a seller. */
export interface SellerProfile
  extends Decoded<typeof profileFields>,
    Decoded<typeof contactFields>,
    Decoded<typeof mediaFields> {
  readonly socialLinks: readonly SocialLink[];
}

function decodeProfile(profile: JsonObject): SellerProfile | null {
  if (isEmpty(profile)) return null;
  const isMap = asMap(profile.members['social_links']) !== undefined;
  return {
    ...readFields(profileFields, profile),
    ...readInner('contact', contactFields, profile),
    socialLinks: readField(isMap ? linksByNetwork : listedLinks, profile),
    ...readInner('media', mediaFields, profile),
  };
}

const nameFields = {
  firstName: text('firstname'),
  lastName: text('lastname'),
  fullName: text('full_name'),
};

const fields = {
  username: text('username'),
  email: text('email'),
  // In `currency`.
  balance: number('balance'),
  currency: text('currency'),
  profile: inner('profile', decodeProfile),
  registeredAt: time('registered_at'),
};

/**
 * The owner of the API key; any member may be missing, because nothing refers to an account by id.
 * Implements: Marketplace API > Resources > Account details.
 */
export interface Seller extends Decoded<typeof nameFields>, Decoded<typeof fields> {}

/**
 * The marketplace account of the key's owner. 1 upstream request.
 * Implements: Marketplace API > Endpoints > GET /api/account/details.
 */
export const seller: Read<Seller> = {
  resource: 'seller',
  tags: ['seller'],
  method: 'GET',
  path: '/api/account/details',
  count: {
    name: 'balance',
    value: ({ balance }) => balance,
    // Amounts of two currencies are not one series.
    origin: ({ currency }) => currency,
  },
  decode(body, context) {
    const row = openSingle(body, ['data'], 'seller', context);
    if (!row) throw new DecodeError('seller.data', 'an account');
    return { ...readInner('name', nameFields, row), ...readFields(fields, row) };
  },
};
