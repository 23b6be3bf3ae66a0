import type { Row } from '../../support/gateway.ts';

/** A state that something can be in; `null` when it is not there. */
export type State = string | number | boolean | null;

/** One state of a register, and when the write that brought it had answered. */
interface Version {
  readonly state: State;
  /** Infinite while the write is under way; absent when it turned out not to have happened. */
  endedAt: number | undefined;
  /** Whether the write answered that its outcome is unknown. */
  isUnknown?: boolean;
}

/** What an operation showed of a register. */
export interface Sighting {
  readonly register: string;
  readonly fits: (state: State) => boolean;
  /** The time at which the operation began. */
  readonly since: number;
  /** Whether the answer said that it is stale. */
  readonly isStale: boolean;
  /** What was asked. */
  readonly where: string;
}

/** A query or a selection, and what its answer says of which registers. */
export interface View {
  readonly query: string;
  readonly sees: (data: Row) => (readonly [register: string, fits: (state: State) => boolean])[];
}

/** A write: its mutation, the path that it goes to, and the state in which it leaves each register. */
export type Change = (truth: Truth) => {
  readonly mutation: string;
  readonly path: string;
  /** What must be there, or the upstream says no. */
  readonly needs?: readonly string[];
  readonly values: Readonly<Record<string, State>>;
  /** What the write itself answers, when it reads that afterwards; its query is one of a fragment. */
  readonly shows?: View;
};

/**
 * The model of an upstream: what each thing was, one state after another. Writes of the same thing
 * go one by one, so that their order is known; its time passes with every end of a write.
 */
export class Truth {
  #now = 0;
  #names = 0;
  readonly #registers = new Map<string, Version[]>();

  constructor(start: Readonly<Record<string, State>>) {
    for (const [name, state] of Object.entries(start)) {
      this.#registers.set(name, [{ state, endedAt: 0 }]);
    }
  }

  get now(): number {
    return this.#now;
  }

  /** A number that nothing has had yet. */
  newNumber(): number {
    this.#names += 1;
    return this.#names;
  }

  newName(): string {
    return `name${this.newNumber()}`;
  }

  /** The state of a register when the last write has ended. */
  state(name: string): State {
    return this.#versions(name).findLast(({ endedAt }) => endedAt !== undefined)?.state ?? null;
  }

  /** Begins a write, unless another one of the same things is under way; `possible`: it can be done. */
  attempt({ needs = [], ...change }: Pick<ReturnType<Change>, 'needs' | 'values'>): {
    readonly possible: boolean;
    end(done: boolean, isUnknown: boolean): void;
  } | null {
    const possible = needs.every((name) => this.state(name) !== null);
    const values = {
      ...Object.fromEntries(needs.map((name) => [name, this.state(name)])),
      ...change.values,
    };
    const registers = Object.keys(values).map((name) => this.#versions(name));
    const busy = ({ endedAt }: Version) => endedAt === Number.POSITIVE_INFINITY;
    if (registers.some((versions) => versions.some(busy))) return null;
    const added = Object.values(values).map(
      (state): Version => ({ state, endedAt: Number.POSITIVE_INFINITY }),
    );
    registers.forEach((versions, n) => versions.push(added[n] as Version));
    return {
      possible,
      end: (done, isUnknown) => {
        this.#now += 1;
        for (const version of added) {
          version.endedAt = done ? this.#now : undefined;
          version.isUnknown = isUnknown;
        }
      },
    };
  }

  /**
   * A stale answer may show what was before a write of unknown outcome, where no newer one can be had.
   * @throws when what was seen is older than a write that had answered when the operation began.
   */
  check({ register, fits, isStale, since, where }: Sighting): void {
    const versions = this.#versions(register);
    const latest = versions.findLastIndex(
      ({ endedAt, isUnknown }) =>
        endedAt !== undefined && endedAt <= since && !(isStale && isUnknown),
    );
    const allowed = versions.slice(latest).filter(({ endedAt }) => endedAt !== undefined);
    if (allowed.some(({ state }) => fits(state))) return;
    const seen = versions.findIndex(({ state }) => fits(state));
    throw new Error(
      `${where} showed ${register} as in version ${seen} of ${JSON.stringify(versions)}, although ${latest} had answered`,
    );
  }

  #versions(name: string): Version[] {
    const versions = this.#registers.get(name) ?? [{ state: null, endedAt: 0 }];
    this.#registers.set(name, versions);
    return versions;
  }
}
