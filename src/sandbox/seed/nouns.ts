import { DAY, stamp } from '../clock.ts';
import { PIXEL_TYPES } from '../links/assets/pixels.ts';
import { aliasOf, type LinksStore } from '../links/store.ts';
import { CAMPAIGNS, CLIENTS, FILES, OVERLAYS, SEED_DAY, SPLASHES } from './words.ts';

/** A seeded time `days` days before the seed day, during working hours. */
export function ago(days: number): string {
  return stamp(SEED_DAY - days * DAY - ((days * 7919) % 480) * 60_000 - ((days * 37) % 60) * 1000);
}

/** Adds domains, overlays, splash pages, pixels, campaigns and files of one account. */
export function seedNouns(store: LinksStore, owner: number, share: 'all' | 'few'): void {
  const part = <T>(rows: readonly T[], few = 2) => (share === 'all' ? rows : rows.slice(0, few));
  if (share === 'all') seedDomains(store, owner);
  part(OVERLAYS).forEach(([type, name], index) => {
    const date = ago(300 - index * 11);
    store.overlays.add({ owner, type, name, date }, index % 4);
  });
  part(SPLASHES, 1).forEach((name, index) => {
    store.splash.add({ owner, name, date: ago(260 - index * 9) }, index % 3);
  });
  part(CAMPAIGNS).forEach((name, index) => {
    // Every third campaign has no rotator.
    const slug = index % 3 === 1 ? null : `${owner}-${aliasOf(name).toLowerCase()}`;
    const links = new Set(
      store.links
        .of(owner)
        .filter((_, position) => position % CAMPAIGNS.length === index)
        .map((link) => link.id),
    );
    const escaped = name.replaceAll("'", '&#039;');
    const row = { owner, name: escaped, slug, public: index % 4 !== 2, links };
    store.campaigns.add(row, index % 3);
  });
  part(pixels(), 1).forEach((pixel, index) => {
    store.pixels.add({ owner, ...pixel, date: ago(410 - index * 13) }, index % 2);
  });
  part(FILES).forEach(([name, filename, text], index) => {
    const alias = aliasOf(`seeded file ${owner} ${filename}`);
    const file = { owner, name, filename, alias, domain: null, content: Buffer.from(text) };
    const open = { password: null, expiry: null, maxdownloads: null };
    const downloads = 3 + ((index * 53) % 211);
    store.files.add({ ...file, ...open, downloads, date: ago(200 - index * 7) }, index % 4);
  });
}

function seedDomains(store: LinksStore, owner: number): void {
  const hosts = CLIENTS.flatMap(([, short], index) =>
    index < 9 ? [`go.${short}.com`, `qr.${short}.com`] : [`go.${short}.com`],
  );
  for (const [index, host] of hosts.entries()) {
    const root = host.replace(/^(go|qr)\./, 'www.');
    const domain = `${index % 8 === 3 ? 'http' : 'https'}://${host}`;
    // Some have no redirects: then the texts are empty, not absent.
    const redirect404 = index % 3 === 2 ? '' : `https://${root}/not-found`;
    store.domains.add({ owner, domain, redirectroot: `https://${root}`, redirect404 }, index % 5);
  }
}

function pixels() {
  return CLIENTS.flatMap(([name, short], index) => {
    const types = [PIXEL_TYPES[index % 13], PIXEL_TYPES[(index * 5 + 3) % 13]];
    return types.map((type = 'gapixel', which) => ({
      type,
      name: `${name.replaceAll('&', '&amp;').replaceAll("'", '&#039;')}${which ? ' (ads)' : ''}`,
      tag: tag(type, short),
    }));
  });
}

function tag(type: string, short: string): string {
  const digits = short.replace(/./g, (letter) => `${(letter.charCodeAt(0) * 7) % 10}`);
  const code = aliasOf(`tag ${short} ${type}`).toUpperCase();
  const forms: Record<string, string> = {
    gtmpixel: `GTM-${code}`,
    gapixel: `G-${code}${digits.slice(0, 4)}`,
    adwordspixel: `AW-${digits.padEnd(10, '4')}`,
    reddit: `t2_${code.toLowerCase()}`,
    tiktok: `C${code}${digits}`,
  };
  return forms[type] ?? digits.padEnd(12, '3');
}
