import type { Figure } from '../report/measurement.ts';
import type { Target } from './target.ts';

/** One way to bring a gateway down, and what it may cost at most. */
export interface Attack {
  /** As `ATTACKS` selects it. */
  readonly name: string;
  /** What the attacker does, in one sentence. */
  readonly about: string;
  /** Settings that differ from those of every other attack. */
  readonly env?: Readonly<Record<string, string>>;
  /** What an honest caller shows, where that is no token of the file. */
  readonly readerToken?: string;
  /** Requests that may reach the upstreams because of it. */
  readonly mayCall: number;
  /** How long it is given at most, in milliseconds; a longer attack has held the gateway. */
  readonly lastsMs?: number;
  /** Connections that are open at once, and how many bytes the process may grow by for each. */
  readonly connections?: { readonly count: number; readonly mayHoldBytes: number };
  /** What an honest caller may have done before. */
  readonly prepare?: (target: Target) => Promise<unknown>;
  /** The attack; what it finds out beside what is measured of every attack are figures of its own. */
  readonly run: (target: Target) => Promise<readonly Figure[] | void>;
}
