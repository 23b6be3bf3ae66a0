import marketWords from './market-words.json' with { type: 'json' };
import words from './words.json' with { type: 'json' };

// The data are those of Larkspur & Finch, a design studio that also does its clients' marketing.

/** The day that every seeded date counts back from, in milliseconds since the epoch. */
export const SEED_DAY = Date.UTC(2025, 10, 14, 9, 30, 0);

type Pair = readonly [string, string];

/** Clients of the studio: name as shown, short name for addresses. */
export const CLIENTS = words.clients as unknown as readonly Pair[];

/** What a short link of a client leads to: title and path. */
export const ASSETS = words.assets as unknown as readonly Pair[];

/** Channels of the studio: name, description, colour. */
export const CHANNELS = words.channels as unknown as readonly (readonly [string, string, string])[];

/** Its call-to-action overlays: type and name. */
export const OVERLAYS = words.overlays as unknown as readonly Pair[];

/** Its files: name, file name, content. */
export const FILES = words.files as unknown as readonly (readonly [string, string, string])[];

/** Where the studio prints a QR code; people with accounts, as in their addresses; its campaigns and splash pages. */
export const {
  places: PLACES,
  people: PEOPLE,
  campaigns: CAMPAIGNS,
  splashPages: SPLASHES,
} = words;

/** The three kinds of media of an item. */
export type Kind = 'image' | 'video' | 'audio';

/** What the seller sells, one row an item: media kind, name, category, sub category, description, tags. */
export const MARKET_WORDS = marketWords as unknown as readonly (readonly [
  kind: Kind,
  name: string,
  category: string,
  sub_category: string,
  description: string,
  tags: string,
])[];
