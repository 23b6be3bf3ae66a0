import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../errors.ts';
import { inBackground } from '../../../scheduling/at-once.ts';
import { type Clock, momentOf } from '../../../scheduling/clock.ts';
import { loopTurns } from '../../../scheduling/loop-turns.ts';
import { AppendedFile } from '../../../storage/appended-file.ts';
import { readTextFileIfThere } from '../../../storage/text-file.ts';
import type { Cache, CacheEntry } from '../cache.ts';
import type { Generations } from '../generations.ts';
import type { KeySealing } from './key-sealing.ts';
import {
  closedLine,
  entryLine,
  floorLine,
  processLine,
  readSavedLines,
  type SavedEntry,
  type SavedKey,
  type SavedLines,
  savedHeadLine,
  sendLine,
  unsentLine,
  type WriteKind,
  writeLine,
} from './saved-lines.ts';

const FILE = 'cache.log';
/** By how much the file can exceed twice the size of a snapshot, in bytes. */
const LONGEST_REST = 16 * 1024 * 1024;
/** How often saved entries that have expired are removed from memory, in milliseconds. */
const PRUNE_MS = 60_000;

interface SavedCacheOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** Maximum size of the file, in bytes. */
  readonly maxBytes: number;
  readonly cache: Cache;
  readonly generations: Generations;
  /** Whether the folder is still this process's own. */
  readonly isOwned: () => boolean;
  /** Reports to the operator, in one sentence. */
  readonly complain: (sentence: string) => void;
  /** Called with the number of entries that were saved by the process before. */
  readonly loaded: (entries: number) => void;
}

/** Where an entry of the cache is in the file. */
export interface SavedPlace {
  readonly sealing: KeySealing;
  readonly name: string;
  readonly bytes: number;
}

/** An entry that is not in the file yet. */
interface Unsaved {
  readonly key: string;
  readonly entry: CacheEntry;
}

/**
 * The cache in `STATE_DIR`: the entries, and the writes that have affected responses. Each entry is added soon after
 * its response, and each write before its caller has the result, so that a killed process loses nothing that matters.
 * What the process before has saved is opened when it is first requested. Costs no upstream request.
 */
export class SavedCache {
  readonly #options: SavedCacheOptions;
  readonly #file: AppendedFile;
  /** The sealing of each key in use, by the scope of its cache entries. */
  readonly #sealings = new Map<string, KeySealing>();
  /** What is in the file and not in the cache, or in both, by the print of the key. */
  readonly #keys: Map<string, SavedKey>;
  readonly #places = new WeakMap<CacheEntry, SavedPlace>();
  readonly #unsaved: Unsaved[] = [];
  /** The lines of requests of writes under way. */
  readonly #sends = new Map<string, string>();
  #isSaving = false;
  #floor: number;
  #hasComplained = false;

  constructor(options: SavedCacheOptions) {
    this.#options = options;
    const { clock, complain, folder, generations, isOwned } = options;
    const path = join(folder, FILE);
    const before = this.#load(path);
    this.#keys = before?.keys ?? new Map();
    this.#floor = before?.floor ?? 0;
    generations.resume(before?.generation ?? 0, this.#floor);
    this.#file = new AppendedFile({
      path,
      clock,
      isOwned,
      snapshot: () => this.#snapshot(),
      setAside: () => rmSync(path),
      replaced: () => {
        this.#hasComplained = false;
      },
      failed: (reason) => {
        if (this.#hasComplained) return;
        this.#hasComplained = true;
        complain(
          `STATE_DIR ${folder}: ${FILE} cannot be written (${reason}). The cache starts empty at the next start, unless it can be written again.`,
        );
      },
    });
    if (before) {
      this.#file.resume(before.bytes);
      this.#file.append(processLine(bootId(), clock.wall()));
    } else this.#file.begin();
    this.#pruneLater();
  }

  /** Whether the process before has saved responses of a key that were not all replaced since. */
  has({ print }: KeySealing): boolean {
    return this.#keys.has(print);
  }

  /**
   * Reports what was loaded; `areOwn` is whether one of the gateway's own keys can open it, and null if only callers have
   * keys.
   */
  report(areOwn: boolean | null): void {
    const { complain, folder, loaded } = this.#options;
    let entries = 0;
    for (const key of this.#keys.values()) entries += key.entries.size;
    if (entries === 0) return;
    if (areOwn !== false) {
      loaded(entries);
      return;
    }
    this.#keys.clear();
    complain(
      `STATE_DIR ${folder}: ${FILE} was saved with another API key, base URL or time zone. The cache starts empty.`,
    );
  }

  /** Whether there is nothing to recall. */
  get isEmpty(): boolean {
    return this.#keys.size === 0;
  }

  /** The sealing of the key whose entries are in a scope; undefined if it was not used yet. */
  sealingOf(scope: string): KeySealing | undefined {
    return this.#sealings.get(scope);
  }

  /** Adds a key that is in use from now on, and the writes of the process before that concern it. */
  use(sealing: KeySealing): void {
    this.#sealings.set(sealing.scope, sealing);
    const saved = this.#keys.get(sealing.print);
    for (const { generation, kind, sealed } of saved?.writes.splice(0) ?? []) {
      const tags = sealing.openTags(sealed);
      if (tags) this.#options.generations.restore(kind, tags, generation);
      // It is not known which entries are outdated.
      else this.#keys.delete(sealing.print);
    }
  }

  /** The saved entry of a name; undefined if there is none. */
  find({ print }: KeySealing, name: string): SavedEntry | undefined {
    return this.#keys.get(print)?.entries.get(name);
  }

  /** Removes the saved entry of a name, which is outdated. */
  remove({ print }: KeySealing, name: string): void {
    const saved = this.#keys.get(print);
    saved?.entries.delete(name);
    if (saved?.entries.size === 0 && saved.writes.length === 0) this.#keys.delete(print);
  }

  /** Saves an entry of the cache, in a later turn of the event loop. */
  save(key: string, entry: CacheEntry, place: SavedPlace): void {
    this.#places.set(entry, place);
    this.remove(place.sealing, place.name);
    this.#unsaved.push({ key, entry });
    if (!this.#isSaving) inBackground(this.#saveAll());
  }

  /** Notes a write that has affected responses with these tags: in the file when this returns. */
  wrote(kind: WriteKind, tags: readonly string[], sealing: KeySealing, permit?: string): void {
    const { floor, latest: generation } = this.#options.generations;
    if (floor > this.#floor) {
      this.#floor = floor;
      this.#file.append(floorLine(floor));
    }
    const { print } = sealing;
    if (permit !== undefined) this.#sends.delete(`${print} ${permit}`);
    const sealed = sealing.sealTags(tags);
    this.#file.append(writeLine(print, { kind, generation, sealed }, permit));
  }

  /** Notes that a write that can affect responses with these tags is about to be sent. */
  sends(tags: readonly string[], sealing: KeySealing, permit: string): void {
    const line = sendLine(sealing.print, permit, sealing.sealTags(tags));
    this.#sends.set(`${sealing.print} ${permit}`, line);
    this.#file.append(line);
  }

  /** Notes that the request of a permit has affected nothing. */
  unsent({ print }: KeySealing, permit: string): void {
    if (this.#sends.delete(`${print} ${permit}`)) this.#file.append(unsentLine(print, permit));
  }

  /** Saves what is not saved yet, so that it survives the end of the machine. */
  async close(): Promise<void> {
    for (const each of this.#unsaved.splice(0)) this.#append(each);
    this.#file.append(closedLine(this.#options.clock.wall()));
    await this.#file.save();
    this.#file.close();
  }

  /** Reads the file of the process before; `null` if there is none, or none that can be used. */
  #load(path: string): SavedLines | null {
    const { clock, complain, folder, maxBytes } = this.#options;
    const without = (why: string): null => {
      complain(`STATE_DIR ${folder}: ${FILE} ${why}. The cache starts empty.`);
      return null;
    };
    try {
      // Between two rewrites it can be larger.
      const text = readTextFileIfThere(path, 2 * maxBytes + LONGEST_REST);
      if (text === null) return null;
      const lines = readSavedLines(text);
      if (!lines) return without('is damaged or has another version');
      if (lines.wall > clock.wall()) {
        return without('cannot be used, because the system clock was set back');
      }
      if (!lines.isClosed && lines.boot !== bootId()) {
        return without('can lack writes, because the machine was restarted while it was in use');
      }
      return lines;
    } catch (error) {
      return without(`cannot be read (${reasonOf(error)})`);
    }
  }

  async #saveAll(): Promise<void> {
    this.#isSaving = true;
    try {
      while (this.#unsaved.length > 0) {
        await loopTurns.turn();
        const next = this.#unsaved.shift();
        if (next) this.#append(next);
      }
    } finally {
      this.#isSaving = false;
    }
  }

  #append({ entry, key }: Unsaved): void {
    if (this.#options.cache.peek(key)?.entry !== entry) return;
    const line = this.#lineOf(entry);
    if (line !== null) this.#file.append(line);
  }

  #lineOf(entry: CacheEntry): string | null {
    const place = this.#places.get(entry);
    if (!place) return null;
    const { bytes, name, sealing } = place;
    const { freshness, stamp, value } = entry;
    const { now, wall } = momentOf(this.#options.clock);
    // Rounded, so that no entry appears to be younger than it is.
    const storedAt = Math.floor(wall - (now - stamp.storedAt));
    const { ttlMs, staleIfErrorMs, staleWhileRevalidateMs } = freshness;
    const until = storedAt + ttlMs + staleWhileRevalidateMs + staleIfErrorMs;
    const { generation } = stamp;
    const sealed =
      until > wall ? sealing.sealEntry(name, { bytes, generation, storedAt, value }) : null;
    return sealed && entryLine(sealing.print, { name, generation, until, sealed });
  }

  /** The whole content: the latest entries first, in at most half of the file. */
  *#snapshot(): Generator<string> {
    const { cache, clock, generations, maxBytes } = this.#options;
    yield savedHeadLine(generations.latest, clock.wall());
    yield processLine(bootId(), clock.wall());
    if (this.#floor > 0) yield floorLine(this.#floor);
    yield* this.#sends.values();
    let left = maxBytes / 2;
    let oldest = Number.POSITIVE_INFINITY;
    const used = new Set<KeySealing>();
    for (const { entry, key } of this.#entries()) {
      if (cache.peek(key)?.entry !== entry) continue;
      const line = this.#lineOf(entry);
      if (line === null || line.length > left) continue;
      left -= line.length;
      oldest = Math.min(oldest, entry.stamp.generation);
      const sealing = this.#places.get(entry)?.sealing;
      if (sealing) used.add(sealing);
      yield line;
    }
    for (const [print, { entries }] of this.#keys) {
      for (const entry of entries.values()) {
        const line = entryLine(print, entry);
        if (entry.until <= clock.wall() || line.length > left) continue;
        left -= line.length;
        oldest = Math.min(oldest, entry.generation);
        yield line;
      }
    }
    yield* this.#writes(oldest);
    this.#forgetUnused(used);
  }

  /** The entries of the cache that can be saved, the latest first. */
  #entries(): Unsaved[] {
    const { cache } = this.#options;
    const found: Unsaved[] = [];
    for (const key of cache.keys()) {
      const entry = cache.peek(key)?.entry;
      if (entry && this.#places.has(entry)) found.push({ key, entry });
    }
    return found.sort((a, b) => b.entry.stamp.storedAt - a.entry.stamp.storedAt);
  }

  /** The writes after a generation: earlier ones affect no entry. */
  *#writes(after: number): Generator<string> {
    for (const { generation, kind, tag } of this.#options.generations.writes()) {
      const sealing = generation > after && this.#sealings.get(tag.slice(0, tag.indexOf(' ')));
      if (!sealing) continue;
      yield writeLine(sealing.print, { kind, generation, sealed: sealing.sealTags([tag]) });
    }
    for (const [print, { writes }] of this.#keys) {
      for (const write of writes) if (write.generation > after) yield writeLine(print, write);
    }
  }

  /** Forgets the keys without entries. */
  #forgetUnused(used: ReadonlySet<KeySealing>): void {
    for (const [scope, sealing] of this.#sealings) {
      if (!used.has(sealing) && !this.#keys.has(sealing.print)) this.#sealings.delete(scope);
    }
  }

  /** Removes saved entries that have expired. */
  #pruneLater(): void {
    if (this.isEmpty) return;
    this.#options.clock.after(PRUNE_MS, () => {
      const wall = this.#options.clock.wall();
      for (const [print, { entries }] of this.#keys) {
        for (const [name, { until }] of entries) if (until <= wall) entries.delete(name);
        if (entries.size === 0) this.#keys.delete(print);
      }
      this.#pruneLater();
    });
  }
}

/** Names the current start of the machine; `-` if the system does not provide it. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '-';
  }
}
