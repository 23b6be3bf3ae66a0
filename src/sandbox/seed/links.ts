import { machineClock } from '../clock.ts';
import { LinksStore } from '../links/store.ts';
import { seedChannels, seedItems } from './channels.ts';
import { seedNouns } from './nouns.ts';
import { ACCOUNT_IDS, seedPeople } from './people.ts';
import { CHANNELS, CLIENTS } from './words.ts';

/** The seeded rows, created once: a reset, and another sandbox in the process, copy them. */
let seeded: LinksStore | undefined;

/**
 * Fills an empty store: the studio (admin key) has all kinds of rows, the pro key's account a few, the free key's
 * account almost none, the other accounts none. Rows and ids are always the same.
 */
export function seedLinks(store: LinksStore): void {
  seeded ??= make();
  store.copyFrom(seeded);
}

function make(): LinksStore {
  const store = new LinksStore('', machineClock, 0);
  seedPeople(store);
  // Real services have one sequence of ids for all accounts, so no account starts at 1.
  store.links.startAfter(1040);
  store.bios.startAfter(60);
  store.qrs.startAfter(300);
  store.channels.startAfter(20);
  store.campaigns.startAfter(10);
  store.domains.startAfter(4);
  store.overlays.startAfter(7);
  store.splash.startAfter(2);
  store.pixels.startAfter(25);
  store.files.startAfter(50);
  seedItems(store, ACCOUNT_IDS.admin, CLIENTS.length);
  seedChannels(store, ACCOUNT_IDS.admin, CHANNELS.length);
  seedNouns(store, ACCOUNT_IDS.admin, 'all');
  seedItems(store, ACCOUNT_IDS.pro, 2);
  seedChannels(store, ACCOUNT_IDS.pro, 3);
  seedNouns(store, ACCOUNT_IDS.pro, 'few');
  seedItems(store, ACCOUNT_IDS.free, 1);
  seedChannels(store, ACCOUNT_IDS.free, 1);
  return store;
}
