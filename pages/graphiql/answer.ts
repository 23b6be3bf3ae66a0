/** What an answer cost, as in `extensions.upstream`. */
export interface Receipt {
  readonly calls: number;
  readonly saved: { readonly cache: number; readonly coalesced: number };
  readonly stale: number;
  /** Requests in the background that the answer started, because its entries are old. */
  readonly refreshes: number;
  readonly maxAgeMs: number;
  readonly waitedMs: number;
}

/** What an operation would cost now, as in `extensions.plan` of a dry run. */
export interface Plan {
  readonly calls: number;
  readonly saved: { readonly cache: number; readonly coalesced: number };
  /** False when `calls` is an estimate: it can cost more or less. */
  readonly exact: boolean;
  /** False when that is more than one operation may make. */
  readonly fits: boolean;
  /** Milliseconds until the first of its requests would leave, where the gateway sends it. */
  readonly startsInMs?: number;
}

/** An error as GraphQL has it. */
export interface Complaint {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

/** An answer, or a part of one that is delivered in parts in the form of August 2022. */
export interface Answer {
  readonly data?: unknown;
  readonly errors?: readonly Complaint[];
  readonly extensions?: {
    readonly upstream?: Receipt;
    readonly plan?: Plan;
    readonly live?: { readonly revision: number; readonly ageMs: number };
  };
  readonly hasNext?: boolean;
  readonly incremental?: readonly { readonly errors?: readonly Complaint[] }[];
}

/** The complaints in an answer or a part of one. */
export function complaintsOf({ errors = [], incremental = [] }: Answer): readonly Complaint[] {
  return [...errors, ...incremental.flatMap((each) => each.errors ?? [])];
}

/** Whether the gateway does not know who asks, or not as one who may: another token can help. */
export function wantsToken(complaints: readonly Complaint[]): boolean {
  return complaints.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED');
}
