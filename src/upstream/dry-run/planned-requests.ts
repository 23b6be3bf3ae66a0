import type { UpstreamName } from '../../errors.ts';

/** Requests of an operation that are wanted by the same fields. */
export interface PlannedRequest {
  readonly upstream: UpstreamName;
  /** The kind of resource, as in metrics. */
  readonly resource: string;
  readonly kind: 'read' | 'write';
  readonly calls: number;
  /** The response paths of these fields without indices, such as `channels.nodes.items`; at most five. */
  readonly fields: readonly string[];
}

/** What a request is, and which fields want it. */
export type Wanted = Omit<PlannedRequest, 'calls'>;

/** Entries that a plan tells, so that it is small whatever is asked for. */
const MOST_ENTRIES = 50;
/** Fields that are told of each. */
const MOST_FIELDS = 5;

/** The requests that a dry run counts, each with the fields that want it. */
export class PlannedRequests {
  readonly #requests = new Map<string, Omit<PlannedRequest, 'fields'> & { fields: Set<string> }>();

  /** So many requests go by this name; fields that want it too are added. */
  note(name: string, calls: number, { fields, ...kind }: Wanted): void {
    const known = this.#requests.get(name)?.fields ?? new Set();
    for (const field of fields) {
      // What shows a row wants no more than the field that the row is of.
      const isWithin = [...known].some((each) => field.startsWith(`${each}.`));
      if (known.size < MOST_FIELDS && !isWithin) known.add(field);
    }
    this.#requests.set(name, { ...kind, calls, fields: known });
  }

  /** The most expensive entries, and how many calls are in the others. */
  get told(): { readonly requests: readonly PlannedRequest[]; readonly more: number } {
    const groups = new Map<string, PlannedRequest>();
    for (const { fields: wanting, calls, ...kind } of this.#requests.values()) {
      const fields = [...wanting];
      const group = [kind.upstream, kind.kind, kind.resource, ...fields].join(' ');
      const before = groups.get(group)?.calls ?? 0;
      groups.set(group, { ...kind, calls: before + calls, fields });
    }
    const all = [...groups.values()].sort((a, b) => b.calls - a.calls);
    const more = all.slice(MOST_ENTRIES).reduce((sum, { calls }) => sum + calls, 0);
    return { requests: all.slice(0, MOST_ENTRIES), more };
  }
}
