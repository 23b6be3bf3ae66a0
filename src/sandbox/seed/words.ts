// The data are those of Larkspur & Finch, a design studio that also does its clients' marketing.

/** The day that every seeded date counts back from, in milliseconds since the epoch. */
export const SEED_DAY = Date.UTC(2025, 10, 14, 9, 30, 0);

/** Clients of the studio: name as shown, short name for addresses. */
export const CLIENTS = [
  ['Juniper & Rye Bakery', 'juniper'],
  ['Harbour Cycles', 'harbour'],
  ['Oak Street Dental', 'oakstreet'],
  ['Nordlicht Hostel', 'nordlicht'],
  ["Maddie's Florist", 'maddies'],
  ['Copper Kettle Coffee', 'copperkettle'],
  ['Brightwater Yoga', 'brightwater'],
  ['Fennel Kitchen', 'fennel'],
  ['Pinecrest Camping', 'pinecrest'],
  ['Atelier Moreau', 'moreau'],
  ['Tidewater Books', 'tidewater'],
  ['Sundial Solar', 'sundial'],
  ['Rossi & Figli Shoes', 'rossi'],
  ['Wren Ceramics', 'wren'],
] as const;

/** What a short link of a client leads to: title and path. */
export const ASSETS = [
  ['autumn newsletter', 'newsletter/autumn'],
  ['opening hours', 'visit'],
  ['gift cards', 'shop/gift-cards'],
  ['job openings', 'jobs'],
  ['press kit', 'press'],
  ['loyalty programme', 'loyalty'],
  ['summer sale', 'sale/summer'],
  ['book a visit', 'booking'],
  ['customer survey', 'survey/2025'],
  ['new arrivals', 'shop/new'],
] as const;

/** Where the studio prints a QR code. */
export const PLACES = ['shop window', 'receipt', 'tote bag', 'poster', 'table card'] as const;

/** People who have accounts: name for the email and the user name. */
export const PEOPLE = [
  'amelie.fournier',
  'ben.okafor',
  'carla.mendes',
  'daniel.weiss',
  'elif.yilmaz',
  'farah.haddad',
  'george.papadakis',
  'hanna.lindqvist',
  'ivan.petrov',
  'jasmine.tan',
  'kofi.mensah',
  'lucia.romano',
  'marek.novak',
  'nadia.rahman',
  'oscar.nilsen',
  'priya.nair',
  'quentin.dubois',
  'rosa.delgado',
  'sean.gallagher',
  'tomoko.ishii',
  'ursula.keller',
  'victor.almeida',
  'wendy.clarke',
] as const;

/** Channels of the studio: name, description, colour. */
export const CHANNELS = [
  ['Trade fair 2025', 'Everything we print for the stand in hall 7', '#1F6FEB'],
  ['Newsletter', 'Links that go out on the first Tuesday of the month', '#C2410C'],
  ['Shop windows', 'Codes on glass, checked every quarter', '#0F766E'],
  ['Instagram bios', 'One bio page per client', '#BE185D'],
  ['Print &amp; packaging', 'Boxes, bags and tissue paper', '#7C3AED'],
  ['Recruiting', 'Job pages of clients who are hiring', '#15803D'],
  ['Summer 2025', 'Campaigns from June to August', '#EAB308'],
  ['Autumn 2025', 'Campaigns from September on', '#B45309'],
  ['Press', 'For journalists: kits and contacts', '#334155'],
  ['Loyalty cards', 'Stamps, points and birthdays', '#DB2777'],
  ['Partners', 'Shared with the printers and the agencies', '#0369A1'],
  ['Oak Street Dental', "Patients' forms and appointments", '#0891B2'],
  ['Nordlicht Hostel', 'Check-in, wifi and city maps', '#4338CA'],
  ['Harbour Cycles', 'Workshop, rental and tours', '#B91C1C'],
  ['Juniper &amp; Rye', 'Menus and pre-orders', '#A16207'],
  ['Menus', 'Table cards that change with the season', '#65A30D'],
  ['Gift cards', 'Sold online, printed in the shop', '#E11D48'],
  ['Surveys', 'Feedback after a visit', '#475569'],
  ['Wayfinding', 'Signs, floors and parking', '#2563EB'],
  ['Events', 'Openings, tastings and readings', '#9333EA'],
  ['Video', 'Clips for waiting rooms', '#DC2626'],
  ['Internal', 'For the team: templates and how-tos', '#64748B'],
  ['Drafts', 'Not public yet', '#94A3B8'],
  ['Spring 2026', 'In preparation', '#16A34A'],
  ['Pitch material', '', '#0EA5E9'],
  ['Client&#039;s own', 'Managed by the clients themselves', '#F97316'],
  ['Packaging codes', 'QR codes only, one per product line', '#111827'],
  ['Archive', 'Every link we ever made', '#6B7280'],
] as const;

/** Names of campaigns of the studio. */
export const CAMPAIGNS = [
  'Black Friday 2025',
  'Harbour Cycles spring check',
  'Bakery pre-orders',
  'Open studio weekend',
  'Advent calendar',
  'Dental check-up reminder',
  'Hostel winter rates',
  "Mother's Day flowers",
  'Coffee subscription launch',
  'Yoga trial month',
  'Fennel supper club',
  'Early bird camping',
  'Atelier sample sale',
  'Reading night',
  'Solar roof consultation',
  'Handmade shoes tour',
  'Ceramics workshop',
  'Back to school',
  'City run sponsorship',
  'Refer a friend',
  'Summer street market',
  'Closing sale, old shop',
] as const;
