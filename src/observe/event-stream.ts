import type { Clock } from '../scheduling/clock.ts';
import type { EventName, EventRows } from './events.ts';

/** Maximum delay before counts are emitted, in milliseconds, so that they belong to the right minute. */
const EMIT_AFTER_MS = 60_000;

/** Reads events: a method for each name that it reads, called synchronously. None may throw. */
export type EventReader = { readonly [Name in EventName]?: (row: EventRows[Name]) => void };

/** Runs work as a part of the operation or the request that `of` identifies, as in its span. */
type Within = <T>(of: object, work: () => T) => T;

type ReadEvent = (row: unknown) => void;

/** The stream of typed events of the gateway: producers emit, readers read in the order of `add`. */
export class EventStream {
  readonly #readers: EventReader[] = [];
  /** The methods for each emitted name, until a reader is added. */
  #methods: { [Name in EventName]?: readonly ReadEvent[] } = {};
  /** `null` without spans: `operationBegan` has no reader then. */
  readonly within: Within | null;

  constructor(within: Within | null = null) {
    this.within = within;
  }

  /** Adds a reader after the existing ones. */
  add(reader: EventReader): void {
    this.#readers.push(reader);
    this.#methods = {};
  }

  /** Buffers events of these names for a reader that is loaded later: it gets them in order, in its place. */
  hold(names: readonly EventName[]): (reader: EventReader) => void {
    const held: ((reader: EventReader) => void)[] = [];
    const hold = <Name extends EventName>(name: Name) => ({
      [name]: (row: EventRows[Name]) => held.push((reader) => reader[name]?.(row)),
    });
    const holder: EventReader = Object.assign({}, ...names.map(hold));
    this.add(holder);
    return (reader) => {
      for (const read of held) read(reader);
      this.#readers.splice(this.#readers.indexOf(holder), 1, reader);
      this.#methods = {};
    };
  }

  /** Whether an event has a reader: for producers whose rows are expensive. */
  isRead(name: EventName): boolean {
    return this.#methodsFor(name).length > 0;
  }

  emit<Name extends EventName>(name: Name, row: EventRows[Name]): void {
    for (const read of this.#methods[name] ?? this.#methodsFor(name)) read(row);
  }

  #methodsFor(name: EventName): readonly ReadEvent[] {
    const methods = this.#readers.flatMap((reader) => {
      const method = reader[name] as ReadEvent | undefined;
      return method ? method.bind(reader) : [];
    });
    this.#methods[name] = methods;
    return methods;
  }
}

/** Where counts are emitted, and when. */
export interface BulkOptions {
  readonly clock: Clock;
  readonly events: EventStream;
}

/**
 * Runs `emit` before a read, and at the latest a minute after a count: counting each remembered response with its
 * labels would cost more than the response. Call the returned function for each count.
 */
export function emitInBulk({ clock, events }: BulkOptions, emit: () => void): () => void {
  let isTimed = false;
  events.add({ look: emit });
  return () => {
    if (isTimed) return;
    isTimed = true;
    clock.after(EMIT_AFTER_MS, () => {
      isTimed = false;
      emit();
    });
  };
}

/** Emits `reads` for the reads that were emitted one by one. */
export function emitReadsInBulk(options: BulkOptions): void {
  const { events } = options;
  const counts = new Map<string, EventRows['read'] & { times: number }>();
  const counted = emitInBulk(options, () => {
    for (const row of counts.values()) events.emit('reads', row);
    counts.clear();
  });
  events.add({
    read(row) {
      const { resource, result, upstream } = row;
      const kind = `${upstream} ${resource} ${result}`;
      const known = counts.get(kind);
      if (known) known.times += 1;
      else counts.set(kind, { ...row, times: 1 });
      counted();
    },
  });
}
