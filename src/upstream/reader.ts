import type { Credential } from '../auth/credential.ts';
import type { Digest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { AtOnce } from '../scheduling/at-once.ts';
import type { KeyState } from './budget/budgets.ts';
import type { Hit } from './cache/cache.ts';
import type { KeyedRead } from './cache/key.ts';
import type { Client } from './client.ts';
import type { CountPoint, SeriesOf, StepSpan } from './count-history.ts';
import { PlannedReads } from './dry-run/planned-reads.ts';
import type { EvidenceLists } from './idempotency/looks/evidence-lists.ts';
import type { Access, Looking } from './operation.ts';
import type { Call, Read, Write } from './request.ts';

/** One upstream API for operations, each in its mode. */
export class Reader {
  readonly #client: Client;
  readonly #planned: PlannedReads;

  constructor(client: Client) {
    this.#client = client;
    this.#planned = new PlannedReads(client);
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  /**
   * Returns the response to a read: without an upstream request from the cache, synchronously if possible, or from
   * a request in flight; otherwise 1 upstream request. None in any mode but `watched`.
   * @throws GatewayError with any `UPSTREAM_...` code, `BUDGET_EXHAUSTED` or `OPERATION_TOO_EXPENSIVE`.
   */
  read<T>(read: Read<T>, access: Access): AtOnce<T> {
    if (access.admittance) return access.admittance.admit().then(() => this.#read(read, access));
    return this.#read(read, access);
  }

  #read<T>(read: Read<T>, access: Access): AtOnce<T> {
    const { mode } = access;
    const of = this.#client.cached.keyed(read, access.credential);
    if (mode?.kind === 'planned') return this.#planned.read(of, access, mode);
    if (mode?.kind === 'watched') return this.#watched(of, access, mode);
    return this.#cached(of, access);
  }

  /** Returns the cached response, or one that the operation has waited for, or sends a request. */
  #cached<T>(of: KeyedRead<T>, access: Access): AtOnce<T> {
    const { mode } = access;
    const { receipt } = access.caller;
    const { cached, fetcher } = this.#client;
    const { hit, ingredient, serves } = cached.lookUp(of, access.caller);
    // An operation reads a response for which it has waited only once, regardless of its ttl.
    if (hit?.state !== 'fresh' && receipt.awaited.has(of.key) && !of.read.page?.reload) {
      const waited = cached.waitedFor(of, receipt);
      if (waited) return waited.value;
    }
    if (ingredient && !mode) cached.asked(ingredient, access.caller, serves);
    if (hit && ingredient && serves) {
      cached.count(ingredient);
      receipt.ingredients.add(ingredient);
      return hit.entry.value;
    }
    return receipt.track(() => fetcher.fetch(of, access, hit));
  }

  #watched<T>(
    of: KeyedRead<T>,
    access: Access,
    { watcher }: Extract<Access['mode'], { kind: 'watched' }>,
  ): AtOnce<T> {
    const { cached } = this.#client;
    const ended = watcher.begin(of, (changed, watchers) => cached.watch(of, changed, watchers));
    try {
      const value = this.#cached(of, access);
      // A failed read is watched too, because another reader may succeed.
      if (value instanceof Promise) return value.finally(ended);
      ended();
      return value;
    } catch (error) {
      ended();
      throw error;
    }
  }

  /**
   * Sends a write: exactly 1 upstream request, which is never repeated if it can have had an effect. After this returns
   * or throws, no reader gets the state before it. See also `KeyedWrites.write`.
   * @throws UpstreamRejected `UPSTREAM_REJECTED` if the upstream rejected it.
   * @throws GatewayError `OUTCOME_UNKNOWN` if it may or may not have happened; `BUDGET_EXHAUSTED` and the other
   * `UPSTREAM_...` codes if it has not.
   */
  async write<T>(write: Write<T>, access: Access, lists: EvidenceLists): Promise<T> {
    await access.admittance?.admit();
    const { mode } = access;
    if (!mode) return this.#client.keyedWrites.write(write, access, lists);
    if (mode.kind === 'planned') return this.#planned.write(write, access, mode);
    throw new TypeError('a live query wrote');
  }

  /**
   * Sends a read whose response is a secret: exactly 1 upstream request, never shared, cached or repeated.
   * @throws GatewayError as `read` does.
   */
  async readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    await access.admittance?.admit();
    const { mode } = access;
    if (!mode) return this.#client.writes.readSecret(call, access);
    if (mode.kind === 'planned') return this.#planned.readSecret(call, access, mode);
    throw new TypeError('a live query asked for a secret');
  }

  /**
   * Requests a response in the background for the history of counts, after all other requests and if slots are left.
   * Returns false if it may not be sent now. Costs 0 or 1 upstream request.
   */
  refresh(read: Read<unknown>, credential: Credential): boolean {
    return this.#client.fetcher.refresh(this.#client.cached.keyed(read, credential), 'history');
  }

  /** Names something that records of idempotency keys have. See `Records.digest`. */
  get nameRecord(): Digest {
    return this.#client.keyedWrites.nameRecord;
  }

  /** Whether the process before may have entries that this process lacks. */
  hasSaved(looking: Looking): boolean {
    return looking.admittance?.isAdmitted !== false && this.#client.cached.hasSaved;
  }

  /**
   * The cached response to a read, whatever its age, or one that the operation has waited for: no request, no
   * refresh, nothing on the receipt.
   */
  peek<T>(read: Read<T>, looking: Looking): Hit<T> | undefined {
    const { admittance, caller, credential, mode } = looking;
    if (admittance?.isAdmitted === false) return undefined;
    const { cached } = this.#client;
    const of = cached.keyed(read, credential);
    const hit = cached.peek(of, caller);
    if (mode?.kind !== 'planned') return hit;
    return hit && this.#planned.unlessWritten(of, hit, mode.dryRun);
  }

  /**
   * The cached response to a read, unless it is outdated: no request, and none in the background. Unlike `peek`, it
   * is a part of the operation's response. Undefined if there is none.
   */
  cachedValue<T>(read: Read<T>, access: Access): T | undefined {
    const { caller, credential, mode } = access;
    const { cached } = this.#client;
    const of = cached.keyed(read, credential);
    const hit = this.peek(read, access);
    const usable = hit && hit.state !== 'fallback' ? hit : undefined;
    if (mode?.kind === 'planned') {
      // What is cached by then depends on the responses before.
      if (!usable && mode.dryRun.rounds.hasAnswered) mode.dryRun.guesses();
      if (usable) mode.dryRun.hit(of.key);
    } else if (mode?.kind === 'watched') {
      mode.watcher.begin(of, (changed, watchers) => cached.watch(of, changed, watchers))();
    } else if (usable) {
      const ingredient = cached.ingredient(of, usable);
      cached.count(ingredient);
      caller.receipt.ingredients.add(ingredient);
    }
    return usable?.entry.value;
  }

  /** Whether an equal read is in flight that a reader could share now; in a dry run also one of its own. */
  inFlight(read: Read<unknown>, { admittance, credential, mode }: Looking): boolean {
    if (admittance?.isAdmitted === false) return false;
    const { key } = this.#client.cached.keyed(read, credential);
    const isPlanned = mode?.kind === 'planned' && mode.dryRun.counts({ key, about: read.about });
    return isPlanned || this.#client.inFlight.isExpected(key);
  }

  /**
   * The values of a count in its last steps. Costs nothing, in every mode.
   * @throws TypeError for a caller that was not admitted, which is a bug.
   */
  points(
    of: SeriesOf,
    span: StepSpan,
    { admittance, caller, credential, mode }: Access,
  ): CountPoint[] {
    if (admittance?.isAdmitted === false) throw new TypeError('a caller was not admitted');
    const { counts, upstream } = this.#client;
    if (!counts) return [];
    const owner = { upstream, credential };
    const { step } = span;
    caller.receipt.ingredients.holdUntil(counts.changesAt(step));
    if (mode?.kind === 'watched') {
      const name = `${upstream} ${of.count} ${of.id} ${step}`;
      mode.watcher.look(name, () => counts.state(owner, of, step));
    }
    return counts.points(owner, of, span);
  }

  /** An update is not sent, because its row is not as its caller expects: for the metrics. */
  conflicted(): void {
    const { events, upstream } = this.#client;
    events?.emit('conflict', { upstream });
  }

  /**
   * The state of the budget of a credential's key. Costs nothing.
   * @throws TypeError for a caller that was not admitted, which is a bug.
   */
  budgetState({ admittance, credential, mode }: Looking): KeyState {
    if (admittance?.isAdmitted === false) throw new TypeError('a caller was not admitted');
    if (mode?.kind === 'watched') return mode.watcher.budgetState(this.#client, credential);
    return this.#client.budgetState(credential);
  }
}
