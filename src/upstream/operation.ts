import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { KeyState } from './budget/budgets.ts';
import type { KeyedRead } from './cache/key.ts';
import type { Watchers } from './cache/watched-round.ts';
import type { WatchListener } from './cache/watches.ts';
import type { DryRun } from './dry-run/dry-run.ts';
import type { Receipt, Watch } from './receipt.ts';
import type { Read } from './request.ts';

/** Who asks, on whose account, and how patient they are. One per operation. */
export interface Caller {
  /** Whom slots are charged to in the fair order. */
  readonly name: string;
  readonly receipt: Receipt;
  /** How long the operation may wait for turns in all, in milliseconds. */
  readonly maxWaitMs: number;
  /** Aborts when the caller has hung up. */
  readonly signal: AbortSignal;
}

/** Watches each read of an operation from before it is answered, so that no change of it is missed. */
export interface ReadWatcher {
  /** A read begins, which `watch` watches; call what comes back once it has ended. */
  begin(of: KeyedRead, watch: (changed: WatchListener, watchers: Watchers) => Watch): () => void;
  /** How a budget stands, of which changes are looked for from then on. */
  budgetState(source: BudgetSource, credential: Credential): KeyState;
}

/** One upstream, as far as its budgets go. */
export interface BudgetSource {
  readonly upstream: UpstreamName;
  budgetState(credential: Credential): KeyState;
}

/** A dry run: nothing is sent, and rows are made up where the cache has no answer. */
export interface PlannedMode {
  readonly kind: 'planned';
  readonly dryRun: DryRun;
  /** Whether a page is all that is read here, whatever comes on it. Without it, pages can follow. */
  readonly suffices?: (read: Read<unknown>) => boolean;
  /**
   * The fields that want what is read, as response paths without indices. `about` is `Read.about`, for who reads for
   * several of them at once.
   */
  readonly wantedBy?: (about?: number) => readonly string[];
}

/**
 * How an operation reads, where it does not read as usual. `cacheOnly`: at once from the cache or not at all, and
 * nothing is counted before `Ingredients.settle`. `watched`: what it reads is watched, and shows no interest by itself.
 */
export type ExecutionMode =
  | { readonly kind: 'cacheOnly' }
  | { readonly kind: 'watched'; readonly watcher: ReadWatcher }
  | PlannedMode;

/** For whom the cache is read; without a caller where no operation is involved. */
export type Looking = Pick<Access, 'credential'> & Partial<Omit<Access, 'credential'>>;

/** On whose behalf a call is made: the operation, and the credential it uses here. */
export interface Access {
  readonly caller: Caller;
  readonly credential: Credential;
  readonly mode?: ExecutionMode | undefined;
  /** Present where the caller has to be admitted first. */
  readonly admittance?: Admittance | undefined;
}

/**
 * Whether a caller may use a key that is not theirs. Before `admit` has resolved nothing is read, written or sent for
 * them, and nothing is known of the cache or the budget.
 */
export class Admittance {
  readonly #check: () => Promise<unknown>;
  #isAdmitted = false;

  /** `check` rejects for a caller who may not ask; it is called each time, and answers from the cache. */
  constructor(check: () => Promise<unknown>) {
    this.#check = check;
  }

  /** Whether the last check has admitted the caller. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** Resolves for a caller who may ask; rejects with the error of the check. */
  async admit(): Promise<void> {
    try {
      await this.#check();
      this.#isAdmitted = true;
    } catch (error) {
      this.#isAdmitted = false;
      throw error;
    }
  }
}
