import { DAY } from '../clock.ts';
import { keyOf } from '../links/store.ts';
import type { Item, MarketStore, Purchase, Seller } from '../market/store.ts';
import { type Kind, MARKET_WORDS, SEED_DAY } from './words.ts';

/** The keys of the seller with items, and of one without items. */
export const MARKET_KEYS = { seller: keyOf('market seller'), empty: keyOf('market newcomer') };

/** Purchase codes: the last valid one has no support; the last invalid one has the format of a code. */
export const PURCHASE_CODES = {
  valid: [
    '7c0e2f64-3b1d-4c57-9a6e-51f0d2b8e913',
    '1f9a6b3c-8d24-4e70-b5c1-0a7d9e4f6238',
    'e45d8c17-6f02-4b9b-8e3a-c92b7f10d5a6',
    '93b7d0f5-2a6c-4181-a4fd-6e8c1b05f27d',
    '5a28e6c9-d714-4f3e-92b0-f3c60a9d84b1',
    'c6f1047b-95e8-4d2a-87c3-2d5b9a7e0f64',
  ],
  invalid: [
    '00000000-0000-4000-8000-000000000000',
    'not-a-code',
    'd0e5b8a2-4c97-4f61-b3d8-7a19e6c2f054',
  ],
};

/** Fills an empty store with two sellers, which are always the same. */
export function seedMarket(store: MarketStore): void {
  const items = MARKET_WORDS.map((word, index) => item(store.url, word, index));
  store.sellers.push({
    ...seller(store.url, {
      names: ['Ines', 'Larkspur'],
      username: 'larkspurfinch',
      balance: 1843.27,
    }),
    key: MARKET_KEYS.seller,
    items,
    purchases: PURCHASE_CODES.valid.map((code, index) => purchase(code, items, index)),
  });
  store.sellers.push({
    ...seller(store.url, { names: ['Tom', 'Newcombe'], username: 'tomnewcombe', balance: 0 }),
    key: MARKET_KEYS.empty,
    items: [],
    purchases: [],
  });
}

function seller(
  url: string,
  given: { names: [string, string]; username: string; balance: number },
): Pick<Seller, 'username' | 'full_name' | 'details'> {
  const { names, username, balance } = given;
  const [firstname, lastname] = names;
  const full_name = names.join(' ');
  const details = {
    name: { firstname, lastname, full_name },
    username,
    email: `${firstname.toLowerCase()}@${username}.com`,
    balance,
    currency: 'EUR',
    profile: {
      heading: 'Templates, textures &amp; sounds from a small studio',
      description:
        'We make what we need for our own clients and sell it here: interface kits, stock footage and short loops. Questions are answered within a day.',
      contact: { email: `support@${username}.com` },
      social_links: { instagram: username, youtube: `@${username}`, dribbble: username },
      media: {
        avatar: `${url}/media/avatar/${username}.svg`,
        cover: `${url}/media/cover/${username}.svg`,
      },
    },
    registered_at: iso(SEED_DAY - 1600 * DAY),
  };
  return { username, full_name, details };
}

function item(url: string, word: (typeof MARKET_WORDS)[number], index: number): Item {
  const [kind, name, category, sub_category, description, tags] = word;
  const id = 204_117 + index * 311 + (index % 7) * 13;
  const regular = 9 + ((index * 7) % 50);
  const media: Item['media'] = { thumbnail: `${url}/media/thumbnail/${id}.svg` };
  if (kind !== 'audio') media.preview_image = `${url}/media/preview/${id}.svg`;
  if (kind === 'video') media.preview_video = `${url}/media/video/${id}.mp4`;
  if (kind === 'audio') media.preview_audio = `${url}/media/audio/${id}.wav`;
  // Only pictures have screenshots, and not all of them.
  if (kind === 'image' && index % 5 !== 4)
    media.screenshots = [1, 2, 3].map((shot) => `${url}/media/screenshot/${id}-${shot}.svg`);
  return {
    id,
    name,
    description,
    category,
    sub_category,
    options: OPTIONS[kind].slice(0, 1 + (index % 3)),
    version: `${1 + (index % 3)}.${(index * 3) % 7}.${index % 4}`,
    demo_link: `${url}/demo/${id}`,
    tags: tags.split(' '),
    media,
    price: { regular, extended: regular * 12 + 5 },
    currency: 'EUR',
    published_at: iso(SEED_DAY - (700 - index * 13) * DAY + index * 3_541_000),
  };
}

const OPTIONS: Record<Kind, string[]> = {
  image: ['Figma file', 'SVG and PNG', 'Layered', 'Dark mode'],
  video: ['4K', '25 fps', 'Loopable', 'Alpha channel'],
  audio: ['WAV 48 kHz', 'MP3', 'Stems', 'Loop version'],
};

function purchase(code: string, items: Item[], index: number): Purchase {
  const bought = items[(index * 17) % items.length] as Item;
  const extended = index % 3 === 2;
  const at = SEED_DAY - (20 + index * 45) * DAY;
  const supported = index < PURCHASE_CODES.valid.length - 1;
  return {
    purchase_code: code,
    license_type: extended ? 'extended' : 'regular',
    price: extended ? bought.price.extended : bought.price.regular,
    currency: bought.currency,
    item: bought,
    // Six months of support, expired for older purchases; absent without support.
    ...(supported ? { supported_until: iso(at + 182 * DAY) } : {}),
    downloaded: index % 4 !== 1,
    date: iso(at),
  };
}

/** ISO 8601 UTC with microseconds, as PHP frameworks write it. */
function iso(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', '.000000Z');
}
