import type { UpstreamName } from '../../../errors.ts';
import type { EventStream } from '../../../observe/event-stream.ts';
import type { KeyedEnd } from '../../../observe/events.ts';
import type { Access } from '../../operation.ts';
import type { Write } from '../../request.ts';
import type { IdempotencyKey, KeyedOutcome } from '../idempotency-key.ts';
import type { EvidenceLists } from '../looks/evidence-lists.ts';

interface CallWorld {
  readonly upstream: UpstreamName;
  readonly events: EventStream | undefined;
}

/** Number of characters of a key's name in events. */
const NAME_SHOWN = 8;

/** One call of a write: what it is, what it costs, and how it ends. */
export class WriteCall<T> {
  readonly write: Write<T>;
  readonly access: Access;
  readonly lists: EvidenceLists;
  /** `null` for a write without a key. */
  readonly key: IdempotencyKey | null;
  /** Upstream requests that have looked for the effect. */
  reads = 0;
  readonly #world: CallWorld;
  readonly #callsBefore: number;

  constructor(
    of: {
      readonly write: Write<T>;
      readonly access: Access;
      readonly lists: EvidenceLists;
      readonly key: IdempotencyKey | null;
    },
    world: CallWorld,
  ) {
    this.write = of.write;
    this.access = of.access;
    this.lists = of.lists;
    this.key = of.key;
    this.#world = world;
    this.#callsBefore = this.#calls;
  }

  get #calls(): number {
    return this.access.caller.receipt.calls(this.#world.upstream);
  }

  /** The operation has a result; `firstAt` is when the key was first used. */
  report(outcome: KeyedOutcome, firstAt: number): void {
    const upstreamCalls = this.#calls - this.#callsBefore;
    this.key?.report({ outcome, firstAt: new Date(firstAt).toISOString(), upstreamCalls });
  }

  /** Emits its end, if it has a key or its response was lost; `settlesAt` is when a retry can find out what an unknown outcome is. */
  emit(outcome: KeyedEnd, settlesAt: number | null = null): void {
    const { events, upstream } = this.#world;
    const { access, key, reads, write } = this;
    if (!key && outcome !== 'reconciled' && outcome !== 'unknown') return;
    const { name, receipt } = access.caller;
    events?.emit('keyed', {
      upstream,
      mutation: key?.mutation ?? `${write.method} ${write.path.split('/', 3)[2] ?? ''}`,
      outcome,
      key: key && key.name.slice(0, NAME_SHOWN),
      asker: receipt.asker,
      caller: name,
      reads,
      settlesAt,
    });
  }
}
