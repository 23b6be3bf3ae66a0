import type { Clock } from '../../scheduling/clock.ts';
import type { EventStream } from '../event-stream.ts';
import type { EventRows } from '../events.ts';

/** What is counted is emitted after this many milliseconds at the latest: it belongs to its minute. */
const EMIT_AFTER_MS = 60_000;

/** Where counts are emitted, and when. */
export interface BulkOptions {
  readonly clock: Clock;
  readonly events: EventStream;
}

/**
 * Runs `emit` before a reader looks, and a minute after something was counted at the latest: to count each
 * answer from memory with its labels would cost more than to answer. What this returns is to be called with each count.
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
      const { resource, result, times = 1, upstream } = row;
      const kind = `${upstream} ${resource} ${result}`;
      const known = counts.get(kind);
      if (known) known.times += times;
      else counts.set(kind, { ...row, times });
      counted();
    },
  });
}
