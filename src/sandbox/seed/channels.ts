import { escapeHtml } from '../http/answer.ts';
import { noScans } from '../links/assets/qr.ts';
import {
  aliasOf,
  type Channel,
  type LinksStore,
  pick,
  type QrCode,
  spread,
} from '../links/store.ts';
import { ago } from './nouns.ts';
import { ASSETS, CHANNELS, CLIENTS, PLACES } from './words.ts';

/** Adds links, bio pages and QR codes to one account. */
export function seedItems(store: LinksStore, owner: number, clients: number): void {
  for (const [place, [client, short]] of CLIENTS.slice(0, clients).entries()) {
    const name = escapeHtml(client);
    for (const [index, [asset, path]] of ASSETS.entries()) {
      const alias = aliasOf(`link ${owner} ${short} ${path}`);
      const target = `https://www.${short}.com/${path}`;
      const date = ago(380 - place * 20 - index * 2);
      store.links.add(
        { owner, alias, title: `${name}: ${asset}`, target, date },
        (index * place) % 4,
      );
    }
    const bio = { owner, alias: `${short}${owner}`, title: name, target: null };
    store.bios.add({ ...bio, date: ago(390 - place * 7) }, place % 3);
    for (const [index, where] of PLACES.entries()) {
      const seed = `qr ${owner} ${short} ${where}`;
      const { type, data } = content(client, short, place * PLACES.length + index);
      const row: Omit<QrCode, 'id'> = {
        owner,
        alias: aliasOf(seed),
        name: `${name}, ${where}`,
        type,
        data,
        background: pick(
          ['rgb(255,255,255)', 'rgb(250,246,238)', 'rgb(237,244,247)'],
          spread(seed),
        ),
        foreground: pick(['rgb(0,0,0)', 'rgb(31,42,68)', 'rgb(88,28,60)'], spread(seed) >>> 8),
        logo: null,
        date: ago(340 - place * 17 - index * 3),
        ...scanned(seed, index),
      };
      store.qrs.add(row, (place + index) % 3);
    }
  }
}

/** Adds channels with items to one account. */
export function seedChannels(store: LinksStore, owner: number, count: number): void {
  const links = store.links.of(owner).toReversed();
  const bios = store.bios.of(owner).toReversed();
  const qrs = store.qrs.of(owner).toReversed();
  for (const [index, [name, description, color]] of CHANNELS.slice(0, count).entries()) {
    const row = { owner, name, description, color, starred: index % 6 === 0 };
    const channel = store.channels.add({ ...row, items: [] }, (index * 2) % 5);
    if (name === 'Drafts') continue;
    if (name === 'Archive') put(channel, 'links', links);
    else if (name === 'Packaging codes') put(channel, 'qr', qrs.slice(-24));
    else {
      // Overlapping slices of the rows: adjacent channels share a few items, as real ones do.
      const from = (rows: readonly { id: number }[], size: number) =>
        Array.from({ length: size }, (_, step) => rows[(index * 5 + step * 3) % rows.length]);
      put(channel, 'links', from(links, 3 + (index % 4)));
      put(channel, 'bio', from(bios, index % 3));
      put(channel, 'qr', from(qrs, 2 + (index % 5)));
    }
  }
}

function put(
  channel: Channel,
  type: 'links' | 'bio' | 'qr',
  rows: readonly ({ id: number } | undefined)[],
): void {
  for (const row of rows) {
    const known = channel.items.some((item) => item.type === type && item.id === row?.id);
    if (row && !known) channel.items.push({ type, id: row.id });
  }
}

/** The content of a code: mostly links, and sometimes each of the other types. */
function content(client: string, short: string, index: number): { type: string; data: unknown } {
  const site = `https://www.${short}.com`;
  const phone = `+49 30 55${String(1000 + index * 7)}`;
  switch (index % 12) {
    case 3:
      return { type: 'text', data: `${client}: show this at the till for a free sample.` };
    case 5:
      return { type: 'vcard', data: { fname: 'Front', lname: 'Desk', org: client, phone, site } };
    case 7:
      return { type: 'email', data: { email: `hello@${short}.com`, subject: 'A question' } };
    case 8:
      return { type: 'phone', data: phone };
    case 10:
      return { type: 'sms', data: { phone, message: 'Please call me back' } };
    case 11:
      return {
        type: 'wifi',
        data: { ssid: `${client} guests`, encryption: 'WPA', password: `${short}-2025` },
      };
    default:
      return { type: 'link', data: `${site}/?from=qr${index}` };
  }
}

/** Scans and their statistics, which sum to the number of scans. */
function scanned(seed: string, index: number): { scans: number; stats: Record<string, unknown> } {
  const number = spread(seed);
  // The last code of some clients was never scanned.
  const scans = index === 4 && number % 3 === 0 ? 0 : 12 + (number % 940);
  if (scans === 0) return { scans, stats: noScans() };
  const social = Math.floor(scans / 9);
  const stats = {
    clicks: scans,
    uniqueClicks: Math.floor(scans * 0.78),
    topCountries: split(scans, ['Germany', 'France', 'Italy', 'Denmark', 'Netherlands'], number),
    topReferrers: split(scans, ['Direct, email and other', 'instagram.com', 'google.com'], number),
    topBrowsers: split(scans, ['Safari', 'Chrome', 'Samsung Internet', 'Firefox'], number >>> 3),
    topOs: split(scans, ['iOS', 'Android', 'Windows', 'macOS'], number >>> 5),
    socialCount: { facebook: social % 40, twitter: social % 11, instagram: social },
  };
  return { scans, stats };
}

/** Distributes a total over labels, largest first. Counts are strings, as in the documentation. */
function split(total: number, labels: string[], number: number): Record<string, string> {
  let left = total;
  const shares: Record<string, string> = {};
  for (const [index, label] of labels.entries()) {
    const share =
      index === labels.length - 1 ? left : Math.ceil(left * (0.5 + (number % 30) / 100));
    if (share > 0) shares[label] = String(share);
    left -= share;
  }
  return shares;
}
