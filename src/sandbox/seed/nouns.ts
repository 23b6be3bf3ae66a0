import { DAY, stamp } from '../clock.ts';
import { PIXEL_TYPES } from '../links/assets/pixels.ts';
import { aliasOf, type LinksStore } from '../links/store.ts';
import { CAMPAIGNS, CLIENTS, SEED_DAY } from './words.ts';

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

const OVERLAYS = [
  ['message', 'Cookie-free since 2024'],
  ['contact', 'Call the workshop'],
  ['message', 'Autumn tasting, 20 September'],
  ['contact', 'Ask for a quote'],
  ['newsletter', 'Join the monthly letter'],
  ['poll', 'Which roast next?'],
  ['image', 'New catalogue cover'],
  ['message', 'We are hiring bakers'],
  ['coupon', '10% off your first order'],
  ['message', 'Free delivery on Fridays'],
  ['contact', 'Book a fitting'],
  ['newsletter', 'Workshop dates by mail'],
  ['message', 'Closed on All Saints&#039; Day'],
  ['poll', 'How was your stay?'],
  ['coupon', 'Winter rate, code NORD'],
  ['message', 'Rental bikes are back'],
  ['image', 'Solar roof before &amp; after'],
  ['contact', 'Patients: write to us'],
  ['message', 'Last places: wheel throwing'],
  ['message', 'Reading night with tea'],
  ['coupon', 'Second pair half price'],
  ['newsletter', 'Press list'],
  ['message', 'Gift cards in every size'],
] as const;

const SPLASHES = [
  'Leaving for the shop',
  'Harbour Cycles tours',
  'Advent calendar door',
  'Fair stand, hall 7',
  'Hostel check-in',
  'Bakery pre-order',
  'Coffee of the month',
  'Yoga trial',
  'Supper club',
  'Camping early bird',
  'Sample sale',
  'Reading night',
  'Solar calculator',
  'Shoe care',
  'Kiln opening',
  'Gift cards',
  'Press only',
  'Partners &amp; printers',
  'Survey thank-you',
  'Video waiting room',
  'Recruiting day',
  'Spring preview',
] as const;

const FILES = [
  [
    'Price list bakery 2025',
    'price-list-bakery.csv',
    'product,price\nRye loaf,5.40\nBrioche,3.20\n',
  ],
  [
    'Bike rental terms',
    'rental-terms.txt',
    'Rental terms\n\nA bike is yours from 9:00 to 18:00.\n',
  ],
  ['Hostel city map', 'city-map.svg', map()],
  ['Dental patient form', 'patient-form.html', '<!doctype html><title>Form</title><h1>Form</h1>\n'],
  ['Menu autumn', 'menu-autumn.txt', 'Autumn menu\n\nPumpkin soup\nMushroom tart\nBaked apple\n'],
  ['Brand colours', 'brand-colours.json', '{"navy":"#1F2A44","rye":"#A16207"}\n'],
  [
    'Press release solar',
    'press-solar.md',
    '# Sundial opens a second workshop\n\nNovember 2025.\n',
  ],
  ['Class timetable', 'timetable.csv', 'day,time,class\nMonday,18:00,Flow\nFriday,7:30,Sunrise\n'],
  ['Fair stand plan', 'stand-plan.svg', map()],
  ['Newsletter archive', 'newsletter-archive.html', '<!doctype html><title>Archive</title>\n'],
  ['Camping packing list', 'packing-list.txt', 'Tent\nStove\nRain jacket\nPlaying cards\n'],
  ['Coffee origin sheet', 'origins.csv', 'country,altitude\nEthiopia,1950\nColombia,1700\n'],
  ['Shoe sizes', 'sizes.csv', 'EU,UK\n40,6.5\n41,7.5\n42,8\n'],
  ['Gift card terms', 'gift-card-terms.txt', 'Valid for three years from the end of the year.\n'],
  ['Book list October', 'books-october.txt', 'The Salt Path\nPiranesi\nThe Summer Book\n'],
  ['Florist wedding sheet', 'wedding-sheet.md', '# Weddings\n\nBouquets from 85.\n'],
  ['Glaze recipes', 'glazes.csv', 'name,cone\nCeladon,9\nTenmoku,10\n'],
  ['Job: pastry chef', 'job-pastry-chef.md', '# Pastry chef (m/f/d)\n\nFrom January.\n'],
  ['Survey results Q3', 'survey-q3.csv', 'question,score\nFriendly,4.7\nFast,4.2\n'],
  ['Supper club guests', 'guests.csv', 'table,guests\n1,6\n2,4\n'],
  ['Font licences', 'font-licences.txt', 'Two families, desktop and web, 3 seats.\n'],
  ['Photo credits', 'photo-credits.txt', 'All pictures: studio, 2025.\n'],
  ['Opening hours', 'hours.json', '{"mon":"closed","tue":"9-18"}\n'],
] as const;

function map(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80"><rect width="120" height="80" fill="#EEF2E6"/>
<path d="M0 50 C40 30 70 70 120 40" stroke="#7DB7E8" stroke-width="9" fill="none"/>
<path d="M20 0V80M0 20H120M84 0V80" stroke="#fff" stroke-width="5"/><circle cx="52" cy="30" r="5" fill="#C2410C"/></svg>`;
}
