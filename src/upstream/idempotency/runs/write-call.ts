import type { UpstreamName } from '../../../errors.ts';
import type { EventStream } from '../../../observe/event-stream.ts';
import type { KeyedEnd } from '../../../observe/events.ts';
import type { Access } from '../../operation.ts';
import type { Row, Write } from '../../request.ts';
import type { IdempotencyKey, KeyedOutcome } from '../idempotency-key.ts';
import type { EvidenceLists } from '../looks/evidence-lists.ts';
import type { Records } from '../records.ts';

interface CallWorld {
  readonly upstream: UpstreamName;
  /** Of the API. */
  readonly baseUrl: string;
  readonly records: Pick<Records, 'digest'>;
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
  /** Names the list to which it adds a row, of this API and credential; `null` for another write. */
  readonly list: string | null;
  /** The row as cached before its first request, for a write that changes a row. */
  before: Row | null = null;
  /** Upstream requests that have looked for the effect. */
  reads = 0;
  /** Whether it was sent a second time. */
  isResent = false;
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
    const { evidence } = of.write;
    // The name of the partition is another in each process.
    const { secret } = of.access.credential;
    this.list =
      evidence?.kind === 'creation'
        ? world.records.digest(`list ${world.baseUrl} ${secret} ${evidence.list.path}`)
        : null;
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

  /** Emits its end; `settlesAt` is when a retry can find out what an unknown outcome is. */
  emit(outcome: KeyedEnd, settlesAt: number | null = null): void {
    const { events, upstream } = this.#world;
    const { access, isResent, key, reads, write } = this;
    const { name, receipt } = access.caller;
    events?.emit('keyed', {
      upstream,
      mutation: key?.mutation ?? `${write.method} ${write.path.split('/', 3)[2] ?? ''}`,
      outcome,
      key: key && key.name.slice(0, NAME_SHOWN),
      asker: receipt.asker,
      caller: name,
      resent: isResent,
      reads,
      settlesAt,
    });
  }
}
