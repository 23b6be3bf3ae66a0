import type { Viewer } from '../../auth/viewer.ts';
import type { IdempotencyKey, KeyedReport } from '../../upstream/idempotency/idempotency-key.ts';
import type { Source } from '../rows/source.ts';
import { fingerprintsOf } from './fingerprint.ts';

/** An idempotency key as a client sent it. */
export interface SentKey {
  readonly text: string;
  /** Distinguishes the fields of one operation to which the same header applies: 1 for the first. */
  readonly place: number;
}

/** Names a key among those of its caller. A key contains no space. */
export function nameOfKey({ place, text }: SentKey): string {
  return `${place} ${text}`;
}

/** The outcome of one mutation field, as `extensions.idempotency` has it. */
interface FieldReport extends KeyedReport {
  readonly path: readonly string[];
}

/** The idempotency keys of the fields of one mutation, and what the gateway did for each field. */
export class KeyedFields {
  readonly #keys: ReadonlyMap<string, SentKey>;
  /** In the order of execution. A field that failed has none. */
  readonly reports: FieldReport[] = [];

  /** The keys by the response names of the fields. */
  constructor(keys: ReadonlyMap<string, SentKey>) {
    this.#keys = keys;
  }

  /** The key of a field; `undefined` if it has none. */
  keyOf(responseName: string): SentKey | undefined {
    return this.#keys.get(responseName);
  }

  /** A field has a result. */
  add(responseName: string, { firstAt, outcome, upstreamCalls }: KeyedReport): void {
    this.reports.push({ path: [responseName], outcome, firstAt, upstreamCalls });
  }

  /** Whether all fields with a key were executed by earlier operations. */
  get areReplayed(): boolean {
    const isComplete = this.reports.length === this.#keys.size;
    return isComplete && this.reports.every(({ outcome }) => outcome === 'REPLAYED');
  }
}

/** A write with a key: its caller, and what it does. */
export interface WriteWithKey extends Pick<IdempotencyKey, 'mutation' | 'report'> {
  readonly key: SentKey;
  readonly viewer: Viewer;
  readonly links: Source;
  /** All of its input. */
  readonly input: unknown;
}

/** The link API for one write with a key. */
export async function keyedLinks(write: WriteWithKey): Promise<Source> {
  const { key, links, mutation, report, viewer } = write;
  const fingerprint = await links.fingerprints.of(mutation, write.input, viewer.name);
  const madeAt = timeIn(key.text);
  const name = links.nameKey(keyScopeOf(viewer), nameOfKey(key));
  return links.keyed({ ...name, fingerprint, mutation, madeAt, report });
}

/**
 * Whose keys are distinguished from those of others: by the identity that a caller has proved. Callers without one
 * share their keys, whatever their address, which changes when a phone leaves a network. With a caller's own key of
 * the API, that key is the identity.
 */
function keyScopeOf({ isAnonymous, linksCredential, name }: Viewer): string {
  if (linksCredential) return `key ${fingerprintsOf(linksCredential).secret}`;
  return isAnonymous ? 'anonymous' : `caller ${name}`;
}

const UUID_V7 = /^([\da-f]{8})-([\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** The time in a UUIDv7, in milliseconds since 1970; `null` for any other text. */
function timeIn(key: string): number | null {
  const [, high, low] = UUID_V7.exec(key) ?? [];
  return high === undefined || low === undefined ? null : Number.parseInt(high + low, 16);
}
