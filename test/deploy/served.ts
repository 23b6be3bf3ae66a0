import type { ErrorCode, UpstreamName } from '../../src/errors.ts';
import type { OperationRecord, QueueLane, ReadResult } from '../../src/observe/events.ts';

/** A metric as `/metrics` shows it. */
export interface Family {
  readonly name: string;
  readonly type: string;
  /** Each label that one of its samples has, with the values that were seen. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
  /** How many samples it has. */
  readonly samples: number;
}

/** The metrics of an answer of `/metrics`, by their names. */
export function readExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let last: { samples: number; labels: Map<string, Set<string>>; name: string } | undefined;
  for (const line of text.split('\n')) {
    const [, declared = '', type = ''] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
    if (declared !== '') {
      const family = { name: declared, type, labels: new Map<string, Set<string>>(), samples: 0 };
      families.set(declared, family);
      last = family;
    } else if (last && /^\w/.test(line)) {
      last.samples += 1;
      const pairs = /^\w+\{(.*)\} /.exec(line)?.[1] ?? '';
      for (const [, label = '', value = ''] of pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
        last.labels.set(label, (last.labels.get(label) ?? new Set()).add(value));
      }
    }
  }
  return families;
}

/** One name that a query can ask for. */
interface ServedMetric {
  /** The metric that it belongs to, without `_bucket`, `_sum` and `_count`. */
  readonly family: string;
  readonly type: string;
  readonly labels: ReadonlySet<string>;
}

/** Labels that Prometheus gives to all that it fetches. */
const OF_PROMETHEUS = ['job', 'instance'];

/** Every value of a label that the code knows, or of a label of one metric. The compiler holds each table to its type. */
const possible: Readonly<Record<string, readonly string[]>> = {
  upstream: keys<UpstreamName>({ LINKS: 1, MARKET: 1 }),
  lane: keys<QueueLane>({ write: 1, interactive: 1, refresh: 1, bulk: 1 }),
  result: keys<ReadResult>({ hit: 1, stale: 1, miss: 1, coalesced: 1 }),
  type: keys<OperationRecord['type']>({
    query: 1,
    mutation: 1,
    subscription: 1,
    upload: 1,
    unknown: 1,
  }),
  'gateway_operations_total outcome': keys<OperationRecord['outcome']>({
    ok: 1,
    partial: 1,
    failed: 1,
    canceled: 1,
  }),
  code: keys<ErrorCode>({
    UNAUTHENTICATED: 1,
    FORBIDDEN: 1,
    BAD_USER_INPUT: 1,
    PERSISTED_QUERY_NOT_FOUND: 1,
    OPERATION_TOO_EXPENSIVE: 1,
    BUDGET_EXHAUSTED: 1,
    TOO_MANY_STREAMS: 1,
    UPSTREAM_UNAVAILABLE: 1,
    UPSTREAM_TIMEOUT: 1,
    UPSTREAM_INVALID_RESPONSE: 1,
    UPSTREAM_UNAUTHENTICATED: 1,
    UPSTREAM_FORBIDDEN: 1,
    UPSTREAM_REJECTED: 1,
    UPSTREAM_NOT_CONFIGURED: 1,
    OUTCOME_UNKNOWN: 1,
    IDEMPOTENCY_KEY_IN_USE: 1,
    IDEMPOTENCY_KEY_REUSED: 1,
    JOBS_NOT_CONFIGURED: 1,
    TOO_MANY_JOBS: 1,
    INTERNAL_SERVER_ERROR: 1,
  }),
};

/** What can be asked of a Prometheus that fetches the metrics of some gateways. */
export class Served {
  readonly #families: ReadonlyMap<string, Family>;
  readonly #alerts: readonly string[];

  /** `alerts` are the names of the rules that it has. */
  constructor(families: ReadonlyMap<string, Family>, alerts: readonly string[]) {
    this.#families = families;
    this.#alerts = alerts;
  }

  /** What a name stands for, if there is such a metric. */
  metric(name: string): ServedMetric | undefined {
    if (name === 'up') return { family: name, type: 'gauge', labels: new Set(OF_PROMETHEUS) };
    if (name === 'ALERTS') {
      const labels = new Set([...OF_PROMETHEUS, 'alertname', 'alertstate', 'severity']);
      return { family: name, type: 'gauge', labels };
    }
    const [, base = name, part] = /^(\w+)_(bucket|sum|count)$/.exec(name) ?? [];
    const histogram = this.#families.get(base);
    const isPart = part !== undefined && histogram?.type === 'histogram';
    const family = isPart ? histogram : this.#families.get(name);
    if (!family) return undefined;
    const own = [...family.labels.keys()].filter((label) => label !== 'le' || part === 'bucket');
    const { name: familyName, type } = family;
    return { family: familyName, type, labels: new Set([...own, ...OF_PROMETHEUS]) };
  }

  /**
   * What can never be among the values of a label, in words. A value that is a variable of the dashboard can
   * be anything, and several things, so it has to be matched by `=~`.
   */
  unmatched(family: string, label: string, op: string, value: string): string[] {
    if (value.startsWith('$')) {
      return op === '=~' ? [] : [`${label}${op}"${value}" matches one value only`];
    }
    const values = this.#values(family, label);
    if (!values) return [];
    const wanted = op.includes('~') ? value.split('|') : [value];
    return wanted
      .filter((each) => {
        const pattern = op.includes('~') ? new RegExp(`^(?:${each})$`) : null;
        return !values.some((known) => (pattern ? pattern.test(known) : known === each));
      })
      .map((each) => `${family} never has ${label}="${each}"`);
  }

  /** The values that a label can have; null where somebody else decides. */
  #values(family: string, label: string): readonly string[] | null {
    if (OF_PROMETHEUS.includes(label)) return null;
    if (label === 'alertname') return this.#alerts;
    if (label === 'alertstate') return ['pending', 'firing'];
    const seen = [...(this.#families.get(family)?.labels.get(label) ?? [])];
    return [...seen, ...(possible[`${family} ${label}`] ?? possible[label] ?? [])];
  }
}

function keys<Name extends string>(table: Readonly<Record<Name, 1>>): readonly string[] {
  return Object.keys(table);
}
