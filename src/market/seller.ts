import { DecodeError, type RowReader, readSingle } from '../upstream/decode/row-reader.ts';
import type { Read } from '../upstream/request.ts';

/** The owner of the API key. Implements: Marketplace API > Resources > Account details. */
export interface Seller {
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly fullName: string | null;
  readonly username: string | null;
  readonly email: string | null;
  /** In `currency`. */
  readonly balance: number | null;
  readonly currency: string | null;
  readonly profile: SellerProfile | null;
  readonly registeredAt: string | null;
}

/** What a seller shows to the public. */
export interface SellerProfile {
  readonly heading: string | null;
  readonly description: string | null;
  readonly contactEmail: string | null;
  readonly socialLinks: readonly SocialLink[];
  /** A URL. */
  readonly avatar: string | null;
  /** A URL. */
  readonly cover: string | null;
}

/** One entry of a profile: a network, and the path or address of the seller there. */
export interface SocialLink {
  readonly network: string;
  readonly path: string;
}

/** Every member may be missing: nothing refers to an account by an id. */
function decodeSeller(row: RowReader): Seller {
  const name = row.map('name');
  const profile = row.map('profile');
  return {
    firstName: name?.text('firstname') ?? null,
    lastName: name?.text('lastname') ?? null,
    fullName: name?.text('full_name') ?? null,
    username: row.text('username'),
    email: row.text('email'),
    balance: row.number('balance'),
    currency: row.text('currency'),
    profile: profile === null || profile.empty ? null : decodeProfile(profile),
    registeredAt: row.time('registered_at'),
  };
}

function decodeProfile(row: RowReader): SellerProfile {
  const media = row.map('media');
  return {
    heading: row.text('heading'),
    description: row.text('description'),
    contactEmail: row.map('contact')?.text('email') ?? null,
    socialLinks: decodeSocialLinks(row),
    avatar: media?.text('avatar') ?? null,
    cover: media?.text('cover') ?? null,
  };
}

/** A map from network to path, or a list of objects with both. A network without a path is no link. */
function decodeSocialLinks(row: RowReader): readonly SocialLink[] {
  const links: SocialLink[] = [];
  const isMap = row.isMap('social_links');
  const entries = isMap ? row.textEntries('social_links') : [];
  for (const [network, path] of entries) links.push({ network, path });
  for (const entry of isMap ? [] : row.rows('social_links')) {
    const network = entry.text('network', 'name');
    const path = entry.text('path', 'link', 'url');
    if (network && path) links.push({ network, path });
  }
  return links;
}

/**
 * The marketplace account of the key's owner. 1 upstream call.
 * Implements: Marketplace API > Endpoints > GET /api/account/details.
 */
export const seller: Read<Seller> = {
  resource: 'seller',
  tags: ['seller'],
  method: 'GET',
  path: '/api/account/details',
  decode(body, context) {
    const row = readSingle(body, ['data'], 'seller', context);
    if (!row) throw new DecodeError('seller.data', 'an account');
    return decodeSeller(row);
  },
};
