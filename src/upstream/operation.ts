import type { Credential } from '../auth/credential.ts';
import type { Receipt } from './receipt.ts';
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
  /** Whether it watches what it reads: that is interest of its own, and its reads show no other. */
  readonly watches?: true;
}

/** For whom the cache is read; without a caller where no operation is involved. */
export type Looking = Pick<Access, 'credential'> & Partial<Pick<Access, 'caller'>>;

/** On whose behalf a call is made: the operation, and the credential it uses here. */
export interface Access {
  readonly caller: Caller;
  readonly credential: Credential;
  /**
   * Whether a read of a page is all that is read here, whatever comes on it: of interest to a dry run
   * only. Without it, pages can follow.
   */
  readonly suffices?: (read: Read<unknown>) => boolean;
  /**
   * The fields that want what is read, as response paths without indices: of a dry run only. `about` is
   * `Read.about`, for who reads for several of them at once.
   */
  readonly wantedBy?: (about?: number) => readonly string[];
}
