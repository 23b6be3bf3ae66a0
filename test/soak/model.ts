import { createGateway, type Gateway } from '../../src/gateway.ts';
import type { ReceiptSummary } from '../../src/upstream/receipt.ts';
import { configOf } from '../support/config.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { createDice } from './load.ts';
import { type Habits, ModelUpstream, type Noun, nouns, SLOWEST_MS } from './model-upstream.ts';

/** What came of a run. */
export interface Modelled {
  readonly operations: number;
  /** Answers without an error, and those with one by its code. */
  readonly outcomes: Record<string, number>;
  readonly requests: number;
  /** Answers that showed what the upstream was not, and why not. */
  readonly wrong: string[];
}

type Row = { readonly databaseId: number; readonly name: string | null } | null;

/** A read, and what it shows: rows by id, and whether it shows all that there are. */
interface View {
  readonly query: string;
  readonly noun: Noun;
  readonly shown: (data: Readonly<Record<string, unknown>>) => {
    readonly rows: ReadonlyMap<number, string | null>;
    readonly whole: boolean;
  };
}

const codes =
  /^(?:BUDGET_EXHAUSTED|UPSTREAM_(?:UNAVAILABLE|TIMEOUT|INVALID_RESPONSE)|OUTCOME_UNKNOWN)$/;

const fieldsOf: Readonly<Record<Noun, string>> = {
  channel: 'databaseId name',
  qr: 'databaseId name',
  user: 'databaseId name: username',
};
const listOf: Readonly<Record<Noun, string>> = {
  channel: 'channels',
  qr: 'qrCodes',
  user: 'users',
};
const typeOf: Readonly<Record<Noun, string>> = { channel: 'Channel', qr: 'QrCode', user: 'User' };
const singleOf: Readonly<Record<Noun, string>> = { channel: 'channel', qr: 'qrCode', user: 'user' };

/** Rests by events of the machine: a round trip over a socket takes some. */
class QuickClock extends VirtualClock {
  override async settle(): Promise<void> {
    for (let n = 0; n < 25; n += 1) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

/**
 * Random reads, writes and changes made elsewhere, side by side, with faults: whatever is answered is
 * held against all that the upstream has been. An answer may show any state since the age that its
 * receipt claims, and since the moment at which a read that was shared with it can have left, but none
 * before a write that had answered when it was asked.
 */
export async function model(operations: number, seed: number, habits: Habits): Promise<Modelled> {
  const roll = createDice(seed);
  const clock = new QuickClock();
  await using upstream = await ModelUpstream.start(clock, roll, habits);
  const gateway = await createGateway(
    configOf({
      AUTH_MODE: 'none',
      LINKS_BASE_URL: upstream.url,
      LINKS_API_KEY: 'key',
      LINKS_RATE_LIMIT: '1000',
      LINKS_TIMEOUT_MS: '8000',
      MAX_WAIT_MS: '60000',
      'ttl.channels': '5000',
      'ttl.qrCodes': '5000',
      'ttl.qrStatistics': '20000',
      'ttl.users': '5000',
    }),
    { clock },
  );
  const run = new Run({ gateway, upstream, clock, roll, complete: habits.complete });
  try {
    while (run.result.operations < operations) {
      for (let n = roll(4); n > 0; n -= 1) run.begin();
      if (roll(3) === 0) upstream.changeElsewhere();
      await clock.advance(roll(roll(8) === 0 ? 8000 : 300));
    }
    upstream.faults = false;
    while (run.running > 0) await clock.advance(1000);
  } finally {
    const closing = { done: false };
    const closed = gateway.close().finally(() => {
      closing.done = true;
    });
    // A refresh may still be in flight, whose answer takes time as well.
    while (!closing.done) await clock.advance(1000);
    await closed;
  }
  return { ...run.result, requests: upstream.requests };
}

class Run {
  readonly result = {
    operations: 0,
    outcomes: {} as Record<string, number>,
    wrong: [] as string[],
  };
  running = 0;
  readonly #gateway: Gateway;
  readonly #upstream: ModelUpstream;
  readonly #clock: QuickClock;
  readonly #roll: (sides: number) => number;
  readonly #complete: boolean;
  /** The writes whose outcome is unknown. */
  readonly #unknown = new Set<string>();

  constructor(options: {
    gateway: Gateway;
    upstream: ModelUpstream;
    clock: QuickClock;
    roll: (sides: number) => number;
    complete: boolean;
  }) {
    this.#gateway = options.gateway;
    this.#upstream = options.upstream;
    this.#clock = options.clock;
    this.#roll = options.roll;
    this.#complete = options.complete;
  }

  /** Begins an operation, and does not wait for it. */
  begin(): void {
    this.result.operations += 1;
    this.running += 1;
    const run = this.#roll(5) === 0 ? this.#write() : this.#read();
    void run
      .catch((error: unknown) => void this.result.wrong.push(String(error)))
      .finally(() => {
        this.running -= 1;
      });
  }

  async #read(): Promise<void> {
    const noun = this.#any(nouns);
    const view = this.#any(this.#views(noun));
    const asked = { order: this.#upstream.next(), at: this.#clock.now() };
    const answer = await this.#ask(view.query);
    if (!answer) return;
    const { rows, whole } = view.shown(answer.data);
    const since = asked.at - answer.receipt.maxAgeMs - SLOWEST_MS - 1;
    for (const id of this.#upstream.ids(noun)) {
      const name = rows.get(id);
      if (name === undefined && !whole) continue;
      const isStale = answer.receipt.stale > 0;
      const fault = this.#check(noun, id, name ?? null, { since, order: asked.order, isStale });
      if (fault) this.result.wrong.push(`${view.query} at ${asked.at}: ${fault}`);
    }
  }

  /** What is wrong with a row's having been shown by this name, or with its not having been shown. */
  #check(
    noun: Noun,
    id: number,
    name: string | null,
    { since, order, isStale }: { since: number; order: number; isStale: boolean },
  ): string | null {
    const versions = this.#upstream.versions(noun, id);
    // While the API fails, a row is shown as it was before a write with an unknown outcome.
    const due = versions.findLastIndex(
      ({ answered, by }) =>
        answered <= order && answered > 0 && !(isStale && this.#unknown.has(by ?? '')),
    );
    const fits = versions.some((version, n) => {
      const until = versions[n + 1]?.at ?? Number.POSITIVE_INFINITY;
      return version.name === name && n >= due && until >= since;
    });
    if (fits) return null;
    return `${noun} ${id} was shown as ${name}, since ${since} and version ${due} it was ${JSON.stringify(versions)}`;
  }

  async #write(): Promise<void> {
    const noun = this.#any(['channel', 'qr', 'user'] as const);
    const id = this.#any(this.#upstream.ids(noun));
    const name = `ours-${this.#upstream.next()}`;
    const type = typeOf[noun];
    const kind = noun === 'channel' ? this.#roll(3) : this.#roll(2) * 2;
    const by = kind === 2 ? `delete ${noun} ${id}` : name;
    const input = {
      channel: `name: "${name}"`,
      qr: `name: "${name}", type: TEXT, data: { value: "x" }`,
      user: `username: "${name}", email: "a@x.example", password: "secret"`,
    }[noun];
    const made = `... on ${type} { ${fieldsOf[noun]} }`;
    const mutation = [
      `create${type}(input: { ${input} }) { __typename ${made} }`,
      `updateChannel(input: { id: ${id}, name: "${name}" }) { __typename ${made} }`,
      `delete${type}(id: ${id}) { __typename }`,
    ][kind];
    const unknown = this.result.outcomes['OUTCOME_UNKNOWN'];
    const answer = await this.#ask(`mutation { row: ${mutation} }`);
    if (this.result.outcomes['OUTCOME_UNKNOWN'] !== unknown) this.#unknown.add(by);
    // An error means that it may have happened, which holds from then on as well.
    this.#upstream.answered(by);
    const row = answer?.data['row'] as Readonly<Record<string, unknown>> | undefined;
    if (row?.['__typename'] === type && row['name'] !== name) {
      this.result.wrong.push(`${mutation} answered ${JSON.stringify(row)}`);
    }
  }

  async #ask(query: string): Promise<{
    readonly data: Readonly<Record<string, unknown>>;
    readonly receipt: ReceiptSummary;
  } | null> {
    const headers = { 'content-type': 'application/json', prefer: 'wait=60' };
    const body = JSON.stringify({ query });
    const request = new Request('http://gateway/graphql', { method: 'POST', headers, body });
    const { data, errors, extensions } = (await (await this.#gateway.fetch(request)).json()) as {
      data: Readonly<Record<string, unknown>> | null;
      errors?: readonly { readonly message: string; readonly extensions?: { code?: string } }[];
      extensions: { upstream: ReceiptSummary };
    };
    const [error] = errors ?? [];
    const outcome = error ? (error.extensions?.code ?? error.message) : 'right';
    this.result.outcomes[outcome] = (this.result.outcomes[outcome] ?? 0) + 1;
    if (error && !codes.test(outcome)) this.result.wrong.push(`${query}: ${outcome}`);
    return error || !data ? null : { data, receipt: extensions.upstream };
  }

  #views(noun: Noun): View[] {
    const fields = fieldsOf[noun];
    const id = this.#any(this.#upstream.ids(noun));
    const other = this.#any(this.#upstream.ids(noun));
    const one = (query: string): View => ({
      query,
      noun,
      shown: ({ row }) => ({
        rows: new Map([[id, (row as Row)?.name ?? null]]),
        whole: false,
      }),
    });
    const global = (n: number): string => Buffer.from(`${typeOf[noun]}:${n}`).toString('base64url');
    const many = (query: string, whole: boolean): View => ({
      query,
      noun,
      shown: ({ rows }) => {
        const nodes = Array.isArray(rows) ? rows : (rows as { nodes: Row[] }).nodes;
        const known = (nodes as Row[]).flatMap((row) => (row ? [row] : []));
        return { rows: new Map(known.map((row) => [row.databaseId, row.name])), whole };
      },
    });
    const node = `... on ${typeOf[noun]} { ${fields} }`;
    const pair = `{ rows: nodes(ids: ["${global(id)}", "${global(other)}"]) { ${node} } }`;
    const windows =
      noun === 'user'
        ? [many(`{ rows: users { ${fields} } }`, true)]
        : [
            many(`{ rows: ${listOf[noun]}(first: 500) { nodes { ${fields} } } }`, this.#complete),
            many(`{ rows: ${listOf[noun]}(first: 15) { nodes { ${fields} } } }`, false),
            many(`{ rows: ${listOf[noun]}(last: 8) { nodes { ${fields} } } }`, false),
          ];
    return [
      one(`{ row: ${singleOf[noun]}(id: ${id}) { ${fields} } }`),
      one(`{ row: node(id: "${global(id)}") { ${node} } }`),
      many(pair, false),
      ...(noun === 'qr' ? [one(`{ row: qrCode(id: ${id}) { name statistics { clicks } } }`)] : []),
      ...windows,
    ];
  }

  #any<T>(choices: readonly T[]): T {
    return choices[this.#roll(choices.length)] as T;
  }
}
