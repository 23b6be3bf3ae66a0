import { hash, randomBytes } from 'node:crypto';
import type { SandboxClock } from '../clock.ts';
import type { MaxLimit } from '../http/paging.ts';
import type { Spool } from '../http/spool.ts';
import { type Row, Table } from '../table.ts';

/** An account of the link service, also with members that only admins get, or no response has. */
export interface User {
  id: number;
  email: string;
  username: string;
  password: string;
  status: 'free' | 'pro';
  admin: boolean;
  expires: string | null;
  registered: string;
  planid: number;
  apikey: string;
  /** Whether the key no longer works. */
  keyExpired: boolean;
}

/** A plan as the API sends it. */
export interface Plan {
  id: number;
  name: string;
  free: boolean;
  prices: { monthly: number; yearly: number; lifetime: number } | null;
  limits: Record<string, unknown>;
}

/** A row of a branded domain. */
export interface Domain extends Row {
  domain: string;
  redirectroot: string;
  redirect404: string;
}

/** A row of a call-to-action overlay. */
export interface Overlay extends Row {
  type: string;
  name: string;
  date: string;
}

/** A row of a custom splash page. */
export interface Splash extends Row {
  name: string;
  date: string;
}

/** A row of a campaign; `links` are the ids of the short links in it. */
export interface Campaign extends Row {
  name: string;
  slug: string | null;
  public: boolean;
  links: Set<number>;
}

/** The three types of channel items. */
export type ItemType = 'links' | 'bio' | 'qr';

/** A row of a channel; `items` in the order they were assigned. */
export interface Channel extends Row {
  name: string;
  description: string;
  color: string;
  starred: boolean;
  items: { type: ItemType; id: number }[];
}

/** A row of a short link or bio page: the API has no endpoints for them, only their ids appear. */
export interface Destination extends Row {
  alias: string;
  title: string;
  /** The target of the link; null for a bio page, which has none. */
  target: string | null;
  date: string;
}

/** A row of an uploaded file. */
export interface StoredFile extends Row {
  name: string;
  filename: string;
  alias: string;
  /** Branded domain of its short URL, or null for the service's own. */
  domain: string | null;
  content: Buffer | Spool;
  downloads: number;
  password: string | null;
  /** Last day of download, `YYYY-MM-DD`. */
  expiry: string | null;
  maxdownloads: number | null;
  date: string;
}

/** A row of a tracking pixel. */
export interface Pixel extends Row {
  type: string;
  name: string;
  tag: string;
  date: string;
}

/** A row of a QR code. */
export interface QrCode extends Row {
  alias: string;
  name: string;
  type: string;
  data: unknown;
  background: string;
  foreground: string;
  logo: string | null;
  scans: number;
  date: string;
  stats: Record<string, unknown>;
}

/** A single-use login; `user` is null after its use. */
export interface Login {
  user: number | null;
  until: number;
}

/** The tables of a store. */
const NOUNS = [
  'domains',
  'overlays',
  'splash',
  'campaigns',
  'channels',
  'links',
  'bios',
  'files',
  'pixels',
  'qrs',
] as const;

/** The data of the link service, in memory. */
export class LinksStore {
  readonly url: string;
  readonly clock: SandboxClock;
  readonly maxLimit: MaxLimit;
  users: User[] = [];
  plans: Plan[] = [];
  readonly logins = new Map<string, Login>();
  readonly domains = new Table<Domain>();
  readonly overlays = new Table<Overlay>();
  readonly splash = new Table<Splash>();
  readonly campaigns = new Table<Campaign>();
  readonly channels = new Table<Channel>();
  readonly links = new Table<Destination>();
  readonly bios = new Table<Destination>();
  readonly files = new Table<StoredFile>();
  readonly pixels = new Table<Pixel>();
  readonly qrs = new Table<QrCode>();

  constructor(url: string, clock: SandboxClock, maxLimit: MaxLimit) {
    this.url = url;
    this.clock = clock;
    this.maxLimit = maxLimit;
  }

  /** Copies the plans, users and rows of another store, so that changes here do not affect it. */
  copyFrom(other: LinksStore): void {
    this.plans = other.plans;
    this.users = other.users.map((user) => ({ ...user }));
    for (const noun of NOUNS) (this[noun] as Table<Row>).copyFrom(other[noun]);
    const { campaigns, channels } = this;
    campaigns.copyFrom(campaigns, (row) => ({ ...row, links: new Set(row.links) }));
    channels.copyFrom(channels, (row) => ({ ...row, items: [...row.items] }));
  }

  /** Removes a user and all rows of the user. */
  removeUser(id: number): void {
    this.users = this.users.filter((user) => user.id !== id);
    for (const noun of NOUNS) this[noun].removeOwner(id);
  }
}

/** A short alias, equal for equal texts. */
export function aliasOf(text: string): string {
  return hash('sha256', text, 'base64url').replace(/[-_]/g, '').slice(0, 6);
}

/** An API key, equal for equal texts. */
export function keyOf(text: string): string {
  return hash('sha256', `key of ${text}`, 'hex').slice(0, 40);
}

/** A random secret, new each time. */
export function secret(): string {
  return randomBytes(24).toString('base64url');
}

/** A number of 32 bits, equal for equal texts: varied data without randomness. */
export function spread(text: string): number {
  return hash('sha256', text, 'buffer').readUInt32BE(0);
}

/** Selects one of the choices by a number. */
export function pick<T>(choices: readonly [T, ...T[]], number: number): T {
  return choices[number % choices.length] ?? choices[0];
}
