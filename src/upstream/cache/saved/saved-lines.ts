/** The version of the format of these lines. */
const FORMAT = 1;

/** How a write has affected responses: see `Generations`. */
export type WriteKind = 'touched' | 'doubted';

/** An entry as it is in the file. */
export interface SavedEntry {
  readonly name: string;
  readonly generation: number;
  /** When it is of no use any more, in milliseconds since 1970. */
  readonly until: number;
  /** In base64. */
  readonly sealed: string;
}

/** A write as it is in the file. */
export interface SavedWrite {
  readonly kind: WriteKind;
  readonly generation: number;
  /** Its tags, in base64. */
  readonly sealed: string;
}

/** What is saved of one API key. */
export interface SavedKey {
  readonly entries: Map<string, SavedEntry>;
  readonly writes: SavedWrite[];
}

/** The content of a file. */
export interface SavedLines {
  /** By the print of the key. */
  readonly keys: Map<string, SavedKey>;
  /** The latest write. */
  readonly generation: number;
  /** Entries from before this generation are invalid. */
  readonly floor: number;
  /** The latest time in the file, in milliseconds since 1970. */
  readonly wall: number;
  /** The start of the machine during which it was written. */
  readonly boot: string;
  /** Whether it was closed, and thereby saved for the case that the machine ends. */
  readonly isClosed: boolean;
  /** Number of bytes up to the end of the last complete line. */
  readonly bytes: number;
}

/** The first line. */
export function savedHeadLine(generation: number, wall: number): string {
  return `cache ${FORMAT} ${generation} ${Math.floor(wall)}\n`;
}

/** A process continues the file. */
export function processLine(boot: string, wall: number): string {
  return `p ${boot} ${Math.floor(wall)}\n`;
}

/** Entries from before a generation are invalid. */
export function floorLine(generation: number): string {
  return `f ${generation}\n`;
}

/** An entry, which replaces an earlier one of its name. */
export function entryLine(print: string, entry: SavedEntry): string {
  const { generation, name, sealed, until } = entry;
  return `e ${print} ${name} ${generation} ${Math.floor(until)} ${sealed}\n`;
}

/** A write has affected responses. `permit` is that of the line of its request, or `-`. */
export function writeLine(print: string, write: SavedWrite, permit = '-'): string {
  const { generation, kind, sealed } = write;
  return `${kind === 'touched' ? 't' : 'd'} ${print} ${generation} ${permit} ${sealed}\n`;
}

/** The request of a write is about to be sent. */
export function sendLine(print: string, permit: string, sealed: string): string {
  return `s ${print} ${permit} ${sealed}\n`;
}

/** The request of a write was not sent, or has had no effect. */
export function unsentLine(print: string, permit: string): string {
  return `x ${print} ${permit}\n`;
}

/** The process has closed the file. */
export function closedLine(wall: number): string {
  return `z ${Math.floor(wall)}\n`;
}

const HEAD = /^cache (\d+) (\d+) (\d+)\n/;
const ENTRY = /e (\S+) (\S+) (\d+) (\d+) ([\w+/=-]+)\n/y;
const OTHER =
  /(?:([td]) (\S+) (\d+) (\S+) ([\w+/=-]+)|s (\S+) (\S+) ([\w+/=-]+)|x (\S+) (\S+)|p (\S+) (\d+)|f (\d+)|z (\d+))\n/y;

/**
 * Parses a file; `null` if it has another format or is damaged. The last line may be incomplete, since a process can be
 * killed while it writes. A write whose process has ended before its outcome was known has an unknown outcome.
 */
export function readSavedLines(text: string): SavedLines | null {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const head = HEAD.exec(whole);
  if (!head || Number(head[1]) !== FORMAT) return null;
  const reading = new Reading(Number(head[2]), Number(head[3]));
  let at = head[0].length;
  while (at < whole.length) {
    const isEntry = whole.startsWith('e', at);
    const pattern = isEntry ? ENTRY : OTHER;
    pattern.lastIndex = at;
    const match = pattern.exec(whole);
    if (!match) return null;
    if (isEntry) reading.entry(match);
    else reading.other(match);
    at = pattern.lastIndex;
  }
  return reading.result(Buffer.byteLength(whole));
}

/** The lines read up to some place. */
class Reading {
  readonly #keys = new Map<string, SavedKey>();
  /** Writes without a known outcome, by key and permit. */
  readonly #sends = new Map<string, { readonly print: string; readonly sealed: string }>();
  #generation: number;
  #floor = 0;
  #wall: number;
  #boot = '-';
  #isClosed = false;

  constructor(generation: number, wall: number) {
    this.#generation = generation;
    this.#wall = wall;
  }

  entry([, print = '', name = '', generation, until, sealed = '']: RegExpExecArray): void {
    const entry = { name, generation: Number(generation), until: Number(until), sealed };
    this.#key(print).entries.set(name, entry);
  }

  other(match: RegExpExecArray): void {
    const [, kind, written = '', generation, permit, tags = ''] = match;
    const [sent, as, sealed = '', unsent, unsentAs, boot, began, floor, closed] = match.slice(6);
    this.#isClosed = closed !== undefined;
    if (kind !== undefined) {
      this.#sends.delete(`${written} ${permit}`);
      this.#write(written, kind === 't' ? 'touched' : 'doubted', Number(generation), tags);
    } else if (sent !== undefined) this.#sends.set(`${sent} ${as}`, { print: sent, sealed });
    else if (unsent !== undefined) this.#sends.delete(`${unsent} ${unsentAs}`);
    else if (floor !== undefined) this.#floor = Number(floor);
    else if (boot !== undefined) {
      this.#settle();
      this.#boot = boot;
      this.#pass(began);
    } else this.#pass(closed);
  }

  result(bytes: number): SavedLines {
    this.#settle();
    return {
      keys: this.#keys,
      generation: this.#generation,
      floor: this.#floor,
      wall: this.#wall,
      boot: this.#boot,
      isClosed: this.#isClosed,
      bytes,
    };
  }

  /** A process has ended: the writes that it had sent have unknown outcomes. */
  #settle(): void {
    if (this.#sends.size === 0) return;
    const generation = this.#generation + 1;
    for (const { print, sealed } of this.#sends.values()) {
      this.#write(print, 'doubted', generation, sealed);
    }
    this.#sends.clear();
  }

  #write(print: string, kind: WriteKind, generation: number, sealed: string): void {
    this.#generation = Math.max(this.#generation, generation);
    this.#key(print).writes.push({ kind, generation, sealed });
  }

  #key(print: string): SavedKey {
    const known = this.#keys.get(print);
    if (known) return known;
    const key = { entries: new Map(), writes: [] };
    this.#keys.set(print, key);
    return key;
  }

  #pass(wall: string | undefined): void {
    this.#wall = Math.max(this.#wall, Number(wall));
  }
}
