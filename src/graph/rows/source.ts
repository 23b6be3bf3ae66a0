import { UpstreamFailure, type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { Resource } from '../../resources.ts';
import { type AtOnce, andThen, takeSteps } from '../../scheduling/at-once.ts';
import { loopTurns } from '../../scheduling/loop-turns.ts';
import { budgetOfCaller, type CallerBudget } from '../../upstream/budget/budgets.ts';
import type { Client } from '../../upstream/client.ts';
import type { CountPoint, SeriesOf, StepSpan } from '../../upstream/count-history.ts';
import type { IdempotencyKey, KeyName } from '../../upstream/idempotency/idempotency-key.ts';
import { cachedRow, lastKnownRow } from '../../upstream/lists/find-by-id.ts';
import { foreseenPages } from '../../upstream/lists/foreseen.ts';
import type { Lists } from '../../upstream/lists/pages.ts';
import type { ListSource } from '../../upstream/lists/read-pages.ts';
import type { ListView } from '../../upstream/lists/views/view.ts';
import { type CachedRows, readCached, readWhole } from '../../upstream/lists/views/whole.ts';
import type { Window } from '../../upstream/lists/walk.ts';
import { readAll, readWindow, type WindowArguments } from '../../upstream/lists/window.ts';
import type { Access, PlannedMode } from '../../upstream/operation.ts';
import type { Call, Known, List, Read, Row, Write } from '../../upstream/request.ts';
import { withCandidateIds } from '../ids/candidate-ids.ts';
import { type Seal, sealOf } from '../ids/seal.ts';
import { type Fingerprints, fingerprintsOf } from '../keyed/fingerprint.ts';
import { Batching } from './batching.ts';
import { Connection } from './connection.ts';
import { type Expectation, guardedWrite } from './expectation.ts';

/** Maximum number of rows of windows resolved in one turn of the event loop, so that other work does not wait. */
const ROWS_A_TURN = 400;

interface SourceOptions {
  readonly upstream: UpstreamName;
  /** `null` if this API is not configured: all fields then fail with `UPSTREAM_NOT_CONFIGURED`. */
  readonly lists: Lists | null;
  readonly access: Access;
}

/** The result of an update, and the state before it: `null` if it was not cached. */
export type Updated<T, R> = T & { readonly previous: R | null };

/** One upstream for one operation: with its caller and credential, and batched reads by id. */
export class Source {
  readonly #options: SourceOptions;
  readonly #access: Access;
  readonly #batching: Batching;

  /** With the `batching` of another source, the reads of both are batched together. */
  constructor(options: SourceOptions, batching = new Batching()) {
    this.#options = options;
    this.#access = options.access;
    this.#batching = batching;
  }

  /** The same for one field, whose path it adds to each read: for dry runs. */
  wantedBy(field: string): Source {
    this.#batching.notesFields();
    const access = this.#accessOf(() => ({ wantedBy: () => [field] }));
    return new Source({ ...this.#options, access }, this.#batching);
  }

  /** The access for its reads, with additional information for dry runs. */
  #accessOf(known: () => Partial<PlannedMode>): Access {
    const access = this.#access;
    const { mode } = access;
    return mode?.kind === 'planned' ? { ...access, mode: { ...mode, ...known() } } : access;
  }

  /** The same for one mutation field with an idempotency key: its writes are executed once. */
  keyed(idempotency: IdempotencyKey): Source {
    const access = { ...this.#access, idempotency };
    return new Source({ ...this.#options, access }, this.#batching);
  }

  /** See `KeyedWrites.nameKey`. */
  nameKey(caller: string, key: string): KeyName {
    return this.#client.keyedWrites.nameKey(caller, key);
  }

  /** Seals secret texts in ids with the credential of this API. */
  get seal(): Seal {
    return sealOf(this.#access.credential);
  }

  /** Makes fingerprints of inputs with the credential of this API. */
  get fingerprints(): Fingerprints {
    return fingerprintsOf(this.#access.credential);
  }

  /** Returns the response to a read: 0 upstream requests and synchronously from the cache, otherwise 0 or 1. */
  read<T>(read: Read<T>): AtOnce<T> {
    return this.#client.read(read, this.#access);
  }

  /**
   * Sends a write: 1 upstream request, repeated only with an idempotency key. See `Client.write` for what it throws.
   */
  async write<T>(write: Write<T>): Promise<T> {
    try {
      return await this.#required.write(write, this.#access);
    } catch (error) {
      throw withCandidateIds(error);
    } finally {
      this.#batching.derived.clear();
    }
  }

  /**
   * Sends an update of a row of a list: 1 upstream request, as `write`. The result has the state before it as well.
   * That is looked up when the response is there, so that it includes all writes that were confirmed until then.
   *
   * With an expectation, all other writers of the row wait from the comparison to the end of the write: see
   * `guardedWrite` for its cost.
   * @throws Conflict if the row is not as expected; the write is then not sent.
   */
  async update<R extends Row>(
    list: List<R>,
    id: number,
    write: Write<Known<R>>,
    expected: Expectation<R> | null = null,
  ): Promise<Updated<Known<R>, R>> {
    const lists = this.#required;
    const access = this.#access;
    const guarded = expected ? guardedWrite({ lists, list, id, access }, write, expected) : write;
    return this.#updated(guarded, () => lastKnownRow(lists, list, id, access));
  }

  /** The same for a row with a read of its own. */
  async updateSingle<T extends object, R>(read: Read<R>, write: Write<T>): Promise<Updated<T, R>> {
    return this.#updated(write, () => {
      const hit = this.#client.peek(read, this.#access);
      return hit && hit.state !== 'fallback' ? hit.entry.value : null;
    });
  }

  async #updated<T extends object, R>(
    write: Write<T>,
    before: () => R | null,
  ): Promise<Updated<T, R>> {
    let previous: R | null = null;
    const row = await this.write<T>({
      ...write,
      decode: (body, context) => {
        previous = before();
        return write.decode(body, context);
      },
    });
    return { ...row, previous };
  }

  /** Reads a secret: 1 upstream request, and nothing of it is stored. */
  async readSecret<T>(call: Call<T>): Promise<T> {
    return this.#client.readSecret(call, this.#access);
  }

  /** A window of a list, or of a view of it, as a connection; `null` when its parent is absent. See `readWindow`. */
  connection<R extends Row>(
    list: List<R>,
    window: WindowArguments,
    view?: ListView<R> | null,
  ): AtOnce<Connection<R> | null> {
    const source = this.#sourceOf(list, (unplanned) => foreseenPages(unplanned, window, view));
    return this.#whenAdmitted(() => this.#cut(source, window, view));
  }

  /** Does a part of the operation as soon as its caller is admitted: at once for most callers. */
  #whenAdmitted<T>(work: () => AtOnce<T>): AtOnce<T> {
    const { admittance } = this.#access;
    return admittance ? admittance.admit().then(work) : work();
  }

  /** A list as it is read here; `foresees` is used by dry runs. */
  #sourceOf<R extends Row>(
    list: List<R>,
    foresees: (source: ListSource<R>) => (read: Read<unknown>) => boolean,
  ): ListSource<R> {
    const source = { lists: this.#required, list, access: this.#access };
    return { ...source, access: this.#accessOf(() => ({ suffices: foresees(source) })) };
  }

  #cut<R extends Row>(
    source: ListSource<R>,
    window: WindowArguments,
    view?: ListView<R> | null,
  ): AtOnce<Connection<R> | null> {
    const connect = (read: Window<R> | null) => read && new Connection(read);
    const read = takeSteps(readWindow(source, window, view));
    if (!(read instanceof Promise)) {
      const window = this.#turnFor(read);
      return window instanceof Promise ? window.then(connect) : connect(window);
    }
    const { resource } = source.list;
    return this.#batching.underWay.track(resource, async () =>
      connect(await this.#turnFor(await read)),
    );
  }

  /** Waits for the next turn of the event loop if this one has enough rows to resolve. */
  #turnFor<W extends Window<unknown> | null>(window: W): AtOnce<W> {
    const rows = (window?.rows.length ?? 0) + 1;
    const batching = this.#batching;
    batching.rowsInTurn += rows;
    if (batching.rowsInTurn > ROWS_A_TURN) {
      batching.rowsInTurn = rows;
      const { name } = this.#access.caller;
      batching.turn = (batching.turn ?? Promise.resolve()).then(() => loopTurns.turn(name));
    }
    return batching.turn ? batching.turn.then(() => window) : window;
  }

  /** All rows of a list that is returned whole, or of a view of it. 0 or 1 upstream request. */
  all<R extends Row>(list: List<R>, view?: ListView<R> | null): AtOnce<readonly R[]> {
    const source = this.#sourceOf(list, () => () => true);
    return this.#whenAdmitted(() => takeSteps(readAll(source, view)));
  }

  /** All rows of a list, over all its pages. Costs 1 upstream request for each uncached page. See `readWhole`. */
  whole<R extends Row>(list: List<R>): AtOnce<readonly R[]> {
    const source = this.#sourceOf(list, (unplanned) => foreseenPages(unplanned, {}, { key: '' }));
    return this.#whenAdmitted(() => {
      const rows = takeSteps(readWhole(source));
      if (!(rows instanceof Promise)) return rows;
      return this.#batching.underWay.track(list.resource, () => rows);
    });
  }

  /** The cached rows of a list. No upstream request, also none in the background. */
  cachedRows<R extends Row>(list: List<R>): CachedRows<R> {
    return readCached(this.#required, list, this.#access);
  }

  /**
   * What `make` derives from reads, made once for all fields of the operation until it writes; in a dry run once for
   * each field, so that each is charged with its reads.
   */
  derive<T>(name: string, make: () => T): T {
    const { mode } = this.#access;
    const field = mode?.kind === 'planned' ? mode.wantedBy?.().join() : '';
    const key = `${name} ${field}`;
    const { derived } = this.#batching;
    if (!derived.has(key)) derived.set(key, make());
    return derived.get(key) as T;
  }

  /**
   * One row by its id, `null` if it does not exist. Ids requested at the same time are read together, with as few
   * upstream requests as possible. `namedBy` are the resources whose rows contain such ids: ids from rows wait
   * until the operation's reads of these resources are complete, and are planned as one batch.
   */
  find<R extends Row>(
    list: List<R>,
    id: number,
    namedBy: readonly Resource[] = [],
  ): AtOnce<R | null> {
    // A caller that must first be admitted sends no read before.
    const isUnknown = this.#access.admittance !== undefined;
    const cached = isUnknown ? undefined : cachedRow(this.#required, list, id, this.#access);
    const source = { lists: this.#required, list, access: this.#access };
    return andThen(cached, (row) => row ?? this.#batching.find(source, id, namedBy));
  }

  /** The values of a count in its last steps, the oldest first. Costs only the admission of the caller. */
  history(of: SeriesOf, span: StepSpan): AtOnce<CountPoint[]> {
    return this.#whenAdmitted(() => this.#client.points(of, span, this.#access));
  }

  /**
   * The state of this caller's budget, once all of `done` has completed; `null` if this API is not configured.
   * Costs only the admission of the caller: 0 or 1 upstream request.
   */
  async budgetState(done: () => Promise<void>): Promise<CallerBudget | null> {
    const { lists } = this.#options;
    if (lists) await this.#access.admittance?.admit();
    await done();
    const { caller, mode } = this.#access;
    const state = lists?.client.budgetState(this.#access);
    if (!state) return null;
    // Several callers share the result of a live query: it has the state for a new caller of the default class.
    return budgetOfCaller(state, mode?.kind === 'watched' ? { name: '' } : caller);
  }

  /**
   * Resolves when the caller may see data of others: immediately, or when the link-management API has accepted the
   * caller's key. 0 or 1 upstream request.
   */
  async admitted(): Promise<void> {
    await this.#access.admittance?.admit();
  }

  get #client(): Client {
    return this.#required.client;
  }

  get #required(): Lists {
    const { lists, upstream } = this.#options;
    if (lists) return lists;
    throw new UpstreamFailure(
      upstream,
      'UPSTREAM_NOT_CONFIGURED',
      `${upstreamTitle[upstream]} is not configured. The operator can set its base URL and API key.`,
    );
  }
}
