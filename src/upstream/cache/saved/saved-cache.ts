import { inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import { loopTurns } from '../../../scheduling/loop-turns.ts';
import type { Store } from '../../../store/store.ts';
import type { KeyedRead, Read } from '../../request.ts';
import type { Answer, Cache, CacheEntry } from '../cache.ts';
import type { Generations, WriteKind } from '../generations.ts';
import { type KeySealing, rowOf } from './key-sealing.ts';

/** `cache/<kind>/<name of the key>/<name>` */
const ALL = { from: 'cache/', to: 'cache0' };
/** How often saved entries that have expired are removed, in milliseconds. */
const PRUNE_MS = 60_000;

interface SavedCacheOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Maximum size of the entries, in bytes. */
  readonly maxBytes: number;
  readonly cache: Cache;
  readonly generations: Generations;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
}

/** An entry of the process before. */
interface SavedEntry {
  /** When its request was granted, in milliseconds since 1970. */
  readonly storedAt: number;
  /** When it is of no use any more, in milliseconds since 1970. */
  readonly until: number;
  readonly row: Buffer;
}

/** What the process before has saved of one API key. */
interface SavedKey {
  readonly entries: Map<string, SavedEntry>;
  /** The writes that have affected entries, or were being sent, with the names of their rows. */
  readonly writes: [row: string, value: Buffer][];
}

/** An entry to be saved. */
interface Saved extends Pick<KeyedRead, 'key' | 'read'> {
  readonly entry: CacheEntry;
  readonly bytes: number;
  readonly sealing: KeySealing;
}

/** An entry that is not in the store yet. */
interface Unsaved extends Omit<Saved, 'read'> {
  readonly name: string;
}

/**
 * The cache in the store: the entries, the writes that have affected them, and the writes that are being sent. Each entry
 * is saved soon after its response. Nothing waits for the transaction of the outcome of a write: until it is committed,
 * the write is one that is being sent, and the next process takes it for one that has happened. What the process before has
 * saved is opened when it is first requested. Costs no upstream request.
 */
export class SavedCache {
  readonly #options: SavedCacheOptions;
  /** What was loaded and is not in the cache, by the name of the key. */
  readonly #keys = new Map<string, SavedKey>();
  /** The sizes of the entries in the store, the oldest first, by their rows. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  readonly #unsaved: Unsaved[] = [];
  #isSaving = false;
  /** Entries from before it are not in the store. */
  #floor = 0;
  /** The generation of the writes that the process before was sending: after all that it has saved. */
  #resumedAt = 0;

  private constructor(options: SavedCacheOptions) {
    this.#options = options;
  }

  /** Reads what the process before has saved. */
  static async load(options: SavedCacheOptions): Promise<SavedCache> {
    const saved = new SavedCache(options);
    await saved.#load();
    return saved;
  }

  /** Number of loaded entries that are not in the cache. */
  get size(): number {
    let size = 0;
    for (const { entries } of this.#keys.values()) size += entries.size;
    return size;
  }

  /** Whether there is nothing to recall. */
  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  /** Adds the writes of the process before that concern a key, before it is first used. */
  use(sealing: KeySealing): void {
    const { generations, store } = this.#options;
    const key = this.#keys.get(sealing.name);
    for (const [row, value] of key?.writes.splice(0) ?? []) {
      const isSend = kindOf(row) === 'send';
      const { numbers, sealed } = rowOf(value, isSend ? 0 : 1);
      const tags = sealing.open(row, { numbers, sealed });
      const [generation = this.#resumedAt] = numbers;
      if (isSend) store.delete(row);
      // It is not known which entries are outdated.
      if (!Array.isArray(tags))
        for (const name of key?.entries.keys() ?? []) {
          this.#forget(sealing, name);
          this.#delete(rowName('entry', sealing, name));
        }
      else if (isSend) this.#put('touched', tags, generation, sealing);
      if (Array.isArray(tags)) {
        const kind = kindOf(row) === 'doubted' ? 'doubted' : 'touched';
        generations.restore(
          kind,
          tags.map((tag) => `${sealing.scope} ${tag}`),
          generation,
        );
      }
    }
    this.#forgetOutdated();
    if (key?.entries.size === 0) this.#keys.delete(sealing.name);
  }

  /**
   * Opens the saved response to a read, for `adopt` to add it to the cache, and returns what `adopt` returns; false
   * if there is none.
   */
  recall(sealing: KeySealing, read: Read<unknown>, adopt: (answer: Answer) => boolean): boolean {
    if (!this.#keys.has(sealing.name)) return false;
    const name = sealing.nameOfRead(read);
    const answer = this.#find(sealing, name);
    const isAdopted = answer !== undefined && adopt(answer);
    this.#forget(sealing, name);
    if (!isAdopted) this.#delete(rowName('entry', sealing, name));
    return isAdopted;
  }

  #find(sealing: KeySealing, name: string): Answer | undefined {
    const found = this.#keys.get(sealing.name)?.entries.get(name);
    if (!found) return undefined;
    const { clock } = this.#options;
    const [now, wall] = [clock.now(), clock.wall()];
    const { storedAt, until } = found;
    const row = rowOf(found.row, 4);
    const [, , generation = 0, bytes = 0] = row.numbers;
    const isUsable = storedAt <= wall && wall < until;
    const value = isUsable ? sealing.open(rowName('entry', sealing, name), row) : undefined;
    if (value === undefined) return undefined;
    return { value, bytes, stamp: { storedAt: now - (wall - storedAt), generation } };
  }

  /** Forgets a loaded entry: it is in the cache, or outdated. */
  #forget(sealing: KeySealing, name: string): void {
    const key = this.#keys.get(sealing.name);
    key?.entries.delete(name);
    if (key?.entries.size === 0) this.#keys.delete(sealing.name);
  }

  /** Saves an entry of the cache, in a later turn of the event loop. */
  save({ bytes, entry, key, read, sealing }: Saved): void {
    const name = sealing.nameOfRead(read);
    this.#forget(sealing, name);
    this.#unsaved.push({ bytes, entry, key, name, sealing });
    if (!this.#isSaving) inBackground(this.#saveAll());
  }

  /** Saves that a write has affected responses with these tags, without their scope. */
  wrote(kind: WriteKind, tags: readonly string[], sealing: KeySealing): void {
    this.#forgetOutdated();
    this.#put(kind, tags, this.#options.generations.latest, sealing);
  }

  /** Saves that a write that can affect responses with these tags is about to be sent in a slot. */
  sends(tags: readonly string[], sealing: KeySealing, slot: string): void {
    const row = rowName('send', sealing, slot);
    const value = sealing.seal(row, [], tags);
    if (value) this.#options.store.put(row, value);
  }

  /** Saves that the request of a slot is over: in the transaction of its outcome. */
  sent(sealing: KeySealing, slot: string): void {
    this.#options.store.delete(rowName('send', sealing, slot));
  }

  /** Saves what is not saved yet. */
  close(): void {
    for (const each of this.#unsaved.splice(0)) this.#save(each);
  }

  async #load(): Promise<void> {
    const { clock, complain, generations, store } = this.#options;
    const entries: [row: string, SavedEntry][] = [];
    let latest = 0;
    for await (const [row, value] of store.read(ALL)) {
      const [, kind, key = '', name = ''] = row.split('/');
      const known: SavedKey = this.#keys.get(key) ?? { entries: new Map(), writes: [] };
      this.#keys.set(key, known);
      if (kind === 'entry') {
        const [storedAt = 0, until = 0, generation = 0] = rowOf(value, 4).numbers;
        if (!(until > clock.wall())) {
          store.delete(row);
          continue;
        }
        const entry = { storedAt, until, row: value };
        known.entries.set(name, entry);
        entries.push([row, entry]);
        latest = Math.max(latest, generation);
      } else {
        known.writes.push([row, value]);
        if (kind !== 'send') latest = Math.max(latest, rowOf(value, 1).numbers[0] || 0);
      }
    }
    for (const [name, { entries: own, writes }] of this.#keys) {
      if (own.size === 0 && writes.length === 0) this.#keys.delete(name);
    }
    this.#resumedAt = latest + 1;
    generations.resume(this.#resumedAt);
    entries.sort(([, a], [, b]) => a.storedAt - b.storedAt);
    for (const [row, { row: value }] of entries) this.#note(row, value.length);
    if ((entries.at(-1)?.[1].storedAt ?? 0) > clock.wall()) {
      complain('The system clock was set back. The cache starts empty.');
      this.#clear();
    }
    this.#pruneLater();
  }

  async #saveAll(): Promise<void> {
    this.#isSaving = true;
    try {
      while (this.#unsaved.length > 0) {
        await loopTurns.turn();
        const next = this.#unsaved.shift();
        if (next) this.#save(next);
      }
    } finally {
      this.#isSaving = false;
    }
  }

  #save({ bytes, entry, key, name, sealing }: Unsaved): void {
    const { cache, clock, maxBytes, store } = this.#options;
    if (cache.peek(key)?.entry !== entry) return;
    const { freshness, stamp, value } = entry;
    const [now, wall] = [clock.now(), clock.wall()];
    // Rounded, so that no entry appears to be younger than it is.
    const storedAt = Math.floor(wall - (now - stamp.storedAt));
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness;
    const until = storedAt + ttlMs + staleWhileRevalidateMs + staleIfErrorMs;
    const row = rowName('entry', sealing, name);
    const sealed = sealing.seal(row, [storedAt, until, stamp.generation, bytes], value);
    this.#delete(row);
    if (!sealed || sealed.length > maxBytes) return;
    store.put(row, sealed);
    this.#note(row, sealed.length);
    for (const oldest of this.#sizes.keys()) {
      if (this.#bytes <= maxBytes) return;
      this.#delete(oldest);
    }
  }

  #put(kind: WriteKind, tags: readonly string[], generation: number, sealing: KeySealing): void {
    for (const tag of tags) {
      // One for each tag, as in `Generations`: that bounds them.
      const row = rowName(kind, sealing, sealing.nameOfTag(tag));
      const value = sealing.seal(row, [generation], [tag]);
      if (value) this.#options.store.put(row, value);
    }
  }

  /** Removes what is of no use since `Generations` has forgotten writes. */
  #forgetOutdated(): void {
    const { floor } = this.#options.generations;
    if (floor === this.#floor) return;
    this.#floor = floor;
    this.#clear();
  }

  /** Removes all but writes that are being sent. */
  #clear(): void {
    for (const kind of ['doubted', 'entry', 'touched']) {
      this.#options.store.clear({ from: `cache/${kind}/`, to: `cache/${kind}0` });
    }
    this.#keys.clear();
    this.#sizes.clear();
    this.#bytes = 0;
  }

  #note(row: string, bytes: number): void {
    this.#sizes.set(row, bytes);
    this.#bytes += bytes;
  }

  #delete(row: string): void {
    const bytes = this.#sizes.get(row);
    if (bytes === undefined) return;
    this.#sizes.delete(row);
    this.#bytes -= bytes;
    this.#options.store.delete(row);
  }

  /** Removes loaded entries that have expired. */
  #pruneLater(): void {
    const { clock } = this.#options;
    if (this.isEmpty) return;
    clock.after(PRUNE_MS, () => {
      const wall = clock.wall();
      for (const [key, { entries }] of this.#keys) {
        for (const [name, { until }] of entries) {
          if (until > wall) continue;
          entries.delete(name);
          this.#delete(`cache/entry/${key}/${name}`);
        }
        if (entries.size === 0) this.#keys.delete(key);
      }
      this.#pruneLater();
    });
  }
}

function rowName(
  kind: WriteKind | 'entry' | 'send',
  { name: key }: KeySealing,
  name: string,
): string {
  return `cache/${kind}/${key}/${name}`;
}

function kindOf(row: string): string | undefined {
  return row.split('/')[1];
}
