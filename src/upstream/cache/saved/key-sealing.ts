import { createSealing, type Sealing } from '../../../storage/sealing.ts';
import type { Read } from '../../request.ts';
import { identityOfRead } from '../key.ts';

/** Raised when the values below, or those that decoders make, change: what was sealed before is then not opened. */
const FORMAT = 3;
/** A longer response is not saved, in characters: it would block the event loop. */
const LONGEST = 1024 * 1024;
const NUMBER_BYTES = 8;

/** Numbers, and what is sealed together with them. */
interface Row {
  readonly numbers: readonly number[];
  readonly sealed: Buffer;
}

/**
 * Seals what is saved of one API key of an upstream under the API key itself: the store reveals neither key nor data, and
 * another key finds nothing in it.
 */
export class KeySealing {
  /** The scope of its cache entries in this process. */
  readonly scope: string;
  /** Names the key in the store, equally in every process. */
  readonly name: string;
  readonly #sealing: Sealing;

  /** `secret` is the API key, with everything else that the meaning of a response depends on. */
  constructor(scope: string, secret: string) {
    this.scope = scope;
    this.#sealing = createSealing(secret);
    this.name = this.#sealing.name('key', '');
  }

  /** The name of the response to a read, equal in every process. */
  nameOfRead(read: Read<unknown>): string {
    return this.#sealing.name('entry', identityOfRead(read));
  }

  /** The name of a tag, equal in every process. */
  nameOfTag(tag: string): string {
    return this.#sealing.name('tag', tag);
  }

  /** Seals a value with numbers that can be read without the key; `null` if it is too long. */
  seal(name: string, numbers: readonly number[], value: unknown): Buffer | null {
    const text = JSON.stringify(value);
    if (text.length > LONGEST) return null;
    const head = Buffer.alloc(numbers.length * NUMBER_BYTES);
    for (const [at, number] of numbers.entries()) head.writeDoubleBE(number, at * NUMBER_BYTES);
    return Buffer.concat([head, this.#sealing.seal(bound(name, numbers), text)]);
  }

  /** Opens what `seal` has sealed under this name; undefined for anything else. Never throws. */
  open(name: string, { numbers, sealed }: Row): unknown {
    const text = this.#sealing.open(bound(name, numbers), sealed);
    return text === null ? undefined : JSON.parse(text);
  }
}

/** Splits what `seal` returns: the first `count` numbers and the rest, which may be damaged. */
export function rowOf(value: Buffer, count: number): Row {
  const from = count * NUMBER_BYTES;
  const numbers = Array.from({ length: count }, (_, at) =>
    value.length < from ? Number.NaN : value.readDoubleBE(at * NUMBER_BYTES),
  );
  return { numbers, sealed: value.subarray(from) };
}

function bound(name: string, numbers: readonly number[]): string {
  return [FORMAT, name, ...numbers].join(' ');
}
