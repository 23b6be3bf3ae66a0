/** An item of the marketplace as the API sends it. Implements: Marketplace API > Item. */
export interface Item {
  id: number;
  name: string;
  description: string;
  category: string;
  sub_category: string;
  options: string[];
  version: string;
  demo_link: string;
  tags: string[];
  media: {
    thumbnail: string;
    preview_image?: string;
    preview_video?: string;
    preview_audio?: string;
    screenshots?: string[];
  };
  price: { regular: number; extended: number };
  currency: string;
  published_at: string;
}

/** A purchase as the API sends it. Implements: Marketplace API > Purchase. */
export interface Purchase {
  purchase_code: string;
  license_type: string;
  price: number;
  currency: string;
  item: Item;
  supported_until?: string;
  downloaded: boolean;
  date: string;
}

/** A seller, with the data of the seller's key. */
export interface Seller {
  key: string;
  username: string;
  full_name: string;
  details: Record<string, unknown>;
  items: Item[];
  purchases: Purchase[];
}

/** The data of the marketplace, in memory. */
export class MarketStore {
  readonly url: string;
  sellers: Seller[] = [];

  constructor(url: string) {
    this.url = url;
  }
}
