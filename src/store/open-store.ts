import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../scheduling/clock.ts';
import { type Attempt, type Engine, type Owner, StoreError } from './engine.ts';
import { MemoryEngine } from './memory-engine.ts';
import { Store } from './store.ts';

/** Raised when the values of a store change their form; an older one is migrated when it is opened. */
const VERSION = 1;
const META_KEY = 'meta/store';

interface Meta {
  readonly version: number;
  readonly knownSince: number;
  readonly hasLost: boolean;
}

/** Where a store is, and how a sentence names it. */
export type StorePlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** Where the store of these settings is: in memory without any of them. */
export function placeOf(databaseUrl: string | null, stateDir: string | null): StorePlace {
  if (databaseUrl !== null) return { kind: 'postgres', url: databaseUrl };
  return stateDir === null
    ? { kind: 'memory' }
    : { kind: 'folder', folder: join(stateDir, 'store') };
}

interface OpenOptions {
  readonly place: StorePlace;
  /** The address under which other processes reach this one. */
  readonly url: string;
  readonly clock: Clock;
  /** Called with one sentence for the operator. */
  readonly complain: (sentence: string) => void;
}

/** A store that this process owns. */
export interface OwnedStore {
  readonly store: Store;
  /** This process, as others find it. */
  readonly owner: Owner;
}

/** A store that another process owns. */
export interface WaitingStore {
  /** The owner; `null` if it is not known at this moment. */
  owner(): Promise<Owner | null>;
  /** As `Occupied.own`. */
  own(signal: AbortSignal, usable?: () => void): Promise<OwnedStore>;
  /** Ends the session of an owner that does not answer; false if only its own end frees the store. */
  depose(): Promise<boolean>;
}

/** A new owner at an address. */
export function ownerAt(url: string): Owner {
  return { url, secret: randomBytes(32).toString('base64url') };
}

/**
 * Opens a store, or tells that another process owns it. The engine is loaded only here.
 * @throws StoreError `UNAVAILABLE` if it cannot be opened, `NEWER` if a newer version has written it.
 */
export async function openStore(
  options: OpenOptions,
): Promise<{ readonly owned: OwnedStore } | { readonly waiting: WaitingStore }> {
  const owner = ownerAt(options.url);
  const attempt = await attemptAt(options, owner);
  if ('engine' in attempt) return { owned: await ownedStore(attempt.engine, owner, options) };
  const { occupied } = attempt;
  return {
    waiting: {
      owner: () => occupied.owner(),
      own: async (...waits) => ownedStore(await occupied.own(...waits), owner, options),
      depose: () => occupied.depose(),
    },
  };
}

/** A store that ends with this process, and before which there was nothing. */
export function newStore(clock: Clock): Store {
  return new Store({ engine: new MemoryEngine(), clock, complain: () => {} });
}

async function attemptAt({ clock, complain, place }: OpenOptions, owner: Owner): Promise<Attempt> {
  if (place.kind === 'memory') return { engine: new MemoryEngine() };
  if (place.kind === 'folder') {
    const { openLevel } = await import('./level-engine.ts');
    return openLevel({ folder: place.folder, owner, clock, complain });
  }
  const { openPostgres } = await import('./postgres-engine.ts');
  return openPostgres({ url: place.url, owner });
}

async function ownedStore(
  engine: Engine,
  owner: Owner,
  { clock, complain }: OpenOptions,
): Promise<OwnedStore> {
  let store: Store | null = null;
  try {
    const before = await metaIn(engine);
    if (before && before.version > VERSION) {
      const sentence = `A newer version of the gateway has written the store (version ${before.version}, this one knows ${VERSION}). Start that version, or use another STATE_DIR or database.`;
      throw new StoreError('NEWER', sentence);
    }
    const isKnown = before && engine.isComplete;
    const knownSince = isKnown ? before.knownSince : Math.round(clock.wall());
    const hasLost = isKnown ? before.hasLost : before !== null || engine.isReplacement;
    store = new Store({ engine, clock, complain, knownSince, hasLost });
    const meta: Meta = { version: VERSION, knownSince, hasLost };
    store.put(META_KEY, JSON.stringify(meta));
    await store.committed();
    return { store, owner };
  } catch (error) {
    await (store ?? engine).close();
    throw error;
  }
}

async function metaIn(engine: Engine): Promise<Meta | null> {
  const only = { from: META_KEY, to: `${META_KEY}\u0001` };
  for await (const [, value] of engine.read(only)) return JSON.parse(value.toString('utf8'));
  return null;
}
