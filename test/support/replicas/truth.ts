import type { Cluster } from './cluster.ts';
import { type Noun, ROWS, rowKey } from './rows.ts';

/** A read that showed less than what had been confirmed before it began. */
interface Outdated {
  readonly row: string;
  readonly replica: number;
  readonly shown: number;
  readonly confirmed: number;
  /** Milliseconds from the confirmation of that write to the beginning of the read. */
  readonly lateMs: number;
}

/** What a checker of read-your-writes has seen. */
export interface TruthTally {
  /** Confirmed writes, writes whose outcome the client does not know, and those that were refused. */
  readonly writes: { confirmed: number; unknown: number; failed: number };
  /** Answered reads: such as say nothing of being stale, and such as do. */
  readonly reads: { fresh: number; stale: number; failed: number };
  /** Outdated rows in answers that say nothing of being stale: there must be none. */
  readonly outdated: Outdated[];
  /** Outdated rows in answers that say that they are stale. */
  readonly outdatedStale: Outdated[];
  /** Answers that say that they are younger than they are, by their list and how much: there must be none. */
  readonly rejuvenated: string[];
  /** Errors by code. */
  readonly codes: Record<string, number>;
}

const mutations: Readonly<Record<Noun, string>> = {
  campaigns: `mutation ($id: ID!, $name: String!) {
    answer: updateCampaign(input: { id: $id, name: $name }) { type: __typename }
  }`,
  channels: `mutation ($id: ID!, $name: String!) {
    answer: updateChannel(input: { id: $id, name: $name }) { type: __typename }
  }`,
  pixels: `mutation ($id: ID!, $name: String!) {
    answer: updatePixel(input: { id: $id, name: $name, tag: "tag" }) { type: __typename }
  }`,
};

const written: Readonly<Record<Noun, string>> = {
  campaigns: 'Campaign',
  channels: 'Channel',
  pixels: 'Pixel',
};

/**
 * Holds every read against every write that was confirmed to its client before the read began. The
 * upstream knows in which order writes took effect, so it does not matter who wrote, how many at a time,
 * or what became of writes that were never confirmed.
 */
export class Truth {
  readonly tally: TruthTally = {
    writes: { confirmed: 0, unknown: 0, failed: 0 },
    reads: { fresh: 0, stale: 0, failed: 0 },
    outdated: [],
    outdatedStale: [],
    rejuvenated: [],
    codes: {},
  };
  readonly #cluster: Cluster;
  /** The highest confirmed version of each row, and when it was confirmed. */
  readonly #confirmed = new Map<string, { readonly version: number; readonly at: number }>();
  #names = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Renames a row by one replica. Answers whether its client was told that it happened. */
  async write(replica: number, noun: Noun, id: number): Promise<boolean> {
    this.#names += 1;
    const name = `name ${this.#names}`;
    const { writes } = this.tally;
    try {
      const variables = { id: String(id), name };
      const answer = await this.#cluster.ask(replica, { query: mutations[noun], variables });
      const made = answer.data?.['answer'] as { readonly type: string } | null | undefined;
      if (made?.type !== written[noun]) {
        writes.failed += 1;
        this.#count(answer);
        return false;
      }
    } catch {
      writes.unknown += 1;
      return false;
    }
    writes.confirmed += 1;
    const version = this.#cluster.upstream.rows.versionOf(noun, id, name);
    if (version === undefined) throw new Error(`${name} was confirmed and never took effect`);
    const before = this.#confirmed.get(rowKey(noun, id));
    if (!before || before.version < version) {
      this.#confirmed.set(rowKey(noun, id), { version, at: performance.now() });
    }
    return true;
  }

  /** Reads a list by one replica and holds it against what was confirmed when the read began. */
  async read(replica: number, noun: Noun): Promise<'right' | 'outdated' | 'stale' | 'failed'> {
    const began = performance.now();
    const floors = Array.from({ length: ROWS }, (_, index) =>
      this.#confirmed.get(rowKey(noun, index + 1)),
    );
    const { reads } = this.tally;
    let answer: Awaited<ReturnType<Cluster['ask']>>;
    try {
      const query = `{ list: ${noun}(first: ${ROWS}) { nodes { databaseId name } } }`;
      answer = await this.#cluster.ask(replica, { query });
    } catch {
      reads.failed += 1;
      return 'failed';
    }
    const list = answer.data?.['list'] as
      | { readonly nodes: readonly { readonly databaseId: number; readonly name: string }[] }
      | null
      | undefined;
    if (!list) {
      reads.failed += 1;
      this.#count(answer);
      return 'failed';
    }
    const stale = (answer.extensions?.upstream?.stale ?? 0) > 0;
    const receipt = answer.extensions?.upstream;
    // An answer that was waited for has no age: it can be on its way for a while after its request ended.
    if (receipt && receipt.saved.cache > 0) this.#checkAge(noun, replica, began, receipt.maxAgeMs);
    reads[stale ? 'stale' : 'fresh'] += 1;
    const outdated = this.tally[stale ? 'outdatedStale' : 'outdated'];
    const { length } = outdated;
    for (const { databaseId, name } of list.nodes) {
      const floor = floors[databaseId - 1];
      if (!floor) continue;
      const shown = this.#cluster.upstream.rows.versionOf(noun, databaseId, name) ?? -1;
      if (shown >= floor.version) continue;
      outdated.push({
        row: rowKey(noun, databaseId),
        replica,
        shown,
        confirmed: floor.version,
        lateMs: Math.round(began - floor.at),
      });
    }
    if (stale) return 'stale';
    return outdated.length === length ? 'right' : 'outdated';
  }

  /** Whatever was read last is what an answer can show at best. */
  #checkAge(noun: Noun, replica: number, began: number, maxAgeMs: number): void {
    const last = this.#cluster.upstream
      .requestsTo(new RegExp(`/${noun}`))
      .findLast(({ method }) => method === 'GET');
    // One under way may be what was shown.
    if (!last || !(last.endedAt < began)) return;
    const ageMs = began - last.at;
    // A thousandth is what clocks may differ by.
    if (maxAgeMs < ageMs * 0.99 - 10) {
      const shown = `${maxAgeMs.toFixed(0)} of ${ageMs.toFixed(0)} ms`;
      this.tally.rejuvenated.push(
        `${noun} from replica ${replica} at ${began.toFixed(0)}: ${shown}`,
      );
    }
  }

  #count({ errors }: Awaited<ReturnType<Cluster['ask']>>): void {
    const code = errors?.[0]?.extensions?.code ?? 'none';
    this.tally.codes[code] = (this.tally.codes[code] ?? 0) + 1;
  }
}
