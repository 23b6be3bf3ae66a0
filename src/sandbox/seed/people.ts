import { DAY, stamp } from '../clock.ts';
import { keyOf, type LinksStore, type Plan } from '../links/store.ts';
import { PEOPLE, SEED_DAY } from './words.ts';

/** The seeded keys that clients of the sandbox may use. The sandbox refuses `expired`. */
export const LINK_KEYS = {
  admin: keyOf('studio admin'),
  pro: keyOf('studio pro'),
  free: keyOf('studio free'),
  expired: keyOf('studio expired'),
};

/** Ids of the accounts behind the seeded keys. */
export const ACCOUNT_IDS = { admin: 12, pro: 31, free: 32 };

/** Adds the plans and the users. */
export function seedPeople(store: LinksStore): void {
  store.plans = plans();
  const staff = [
    ['studio', 'studio@larkspurfinch.com', LINK_KEYS.admin, ACCOUNT_IDS.admin],
    ['nora.finch', 'nora@larkspurfinch.com', keyOf('nora'), 13],
    ['harbourcycles', 'hello@harbourcycles.com', LINK_KEYS.pro, ACCOUNT_IDS.pro],
    ['wrenceramics', 'wren@wrenceramics.com', LINK_KEYS.free, ACCOUNT_IDS.free],
    ['oldprinter', 'office@oldprinter.com', LINK_KEYS.expired, 36],
  ] as const;
  for (const [username, email, apikey, id] of staff) {
    const admin = id < 20;
    const pro = admin || apikey === LINK_KEYS.pro;
    addUser(store, { id, username, email, apikey, admin, plan: pro ? 2 : 1 });
  }
  for (const [index, name] of PEOPLE.entries()) {
    const plan = ([1, 2, 1, 3, 1] as const)[index % 5] ?? 1;
    const host = ['posteo.net', 'fastmail.com', 'proton.me'][index % 3] ?? 'posteo.net';
    const user = { username: name, email: `${name}@${host}`, apikey: keyOf(name), plan };
    // Real ids have gaps of different sizes, and are never reused.
    addUser(store, { ...user, id: 41 + index * 3 + Math.min(index % 4, 2), admin: index === 10 });
  }
}

function addUser(
  store: LinksStore,
  given: {
    id: number;
    username: string;
    email: string;
    apikey: string;
    admin: boolean;
    plan: number;
  },
): void {
  const { plan, ...user } = given;
  const registered = SEED_DAY - (900 - user.id * 4) * DAY + user.id * 617_000;
  const free = plan === 1;
  // Every seventh subscription has a plan but no end.
  const lifelong = !free && user.id % 7 === 5;
  store.users.push({
    ...user,
    password: `${user.username}-2025`,
    status: free ? 'free' : 'pro',
    expires: free || lifelong ? null : stamp(SEED_DAY + (400 + user.id * 2) * DAY),
    registered: stamp(registered),
    planid: plan,
    keyExpired: user.apikey === LINK_KEYS.expired,
  });
}

function plans(): Plan[] {
  return [
    {
      id: 1,
      name: 'Starter',
      free: true,
      prices: null,
      limits: limits({ links: 25, clicks: 1000, retention: 30, count: 1, on: ['alias', 'api'] }),
    },
    {
      id: 2,
      name: 'Studio',
      free: false,
      prices: { monthly: 14.9, yearly: 149, lifetime: 399 },
      limits: limits({ links: 2500, clicks: 100_000, retention: 365, count: 25, on: 'all' }),
    },
    {
      id: 3,
      name: 'Agency &amp; Partners',
      free: false,
      prices: { monthly: 39, yearly: 390, lifetime: 990 },
      // In real installations, 0 means unlimited.
      limits: limits({ links: 0, clicks: 0, retention: 0, count: 0, on: 'all' }),
    },
  ];
}

const COUNTED = ['team', 'splash', 'overlay', 'pixels', 'domain'];
const FEATURES = [
  'custom',
  ...COUNTED,
  'multiple',
  'alias',
  'device',
  'geo',
  'bundle',
  'parameters',
  'export',
  'api',
];

function limits(given: {
  links: number;
  clicks: number;
  retention: number;
  count: number;
  on: string[] | 'all';
}): Record<string, unknown> {
  const { on, count, ...numbers } = given;
  const features = FEATURES.map((name) => {
    const enabled = on === 'all' || on.includes(name) ? '1' : '0';
    const counted = COUNTED.includes(name);
    return [name, counted ? { enabled, count: enabled === '1' ? `${count}` : '0' } : { enabled }];
  });
  return { ...numbers, ...Object.fromEntries(features) };
}
