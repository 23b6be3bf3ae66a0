/** A write as it is stored. */
export interface KeptWrite {
  /** Its idempotency key. */
  readonly key: string;
  readonly operation: string;
  readonly variables: object;
  /** When the user decided, in milliseconds since 1970. */
  readonly madeAt: number;
  /** Whether a request may have changed something already. */
  readonly isUnsure: boolean;
}

/** The members of `localStorage` that are used. */
export type WriteStorage = Pick<Storage, 'getItem' | 'key' | 'length' | 'removeItem' | 'setItem'>;

/** Begins the name of each item. The number is that of the format: items of others are not read. */
const PREFIX = 'links-market-writes:1:';

/** How long a key is used, in milliseconds: no longer than the gateway remembers it. */
const KEEP_MS = 86_400_000;

const MOST_WRITES = 50;
const MOST_CHARACTERS = 16_384;

/** Whether the key of a write is no longer used. So it is if the clock was wrong by that much. */
export function isOld({ madeAt }: Pick<KeptWrite, 'madeAt'>): boolean {
  return !(Math.abs(Date.now() - madeAt) < KEEP_MS);
}

/** Stores the writes of an owner, each as an item of its own, so that tabs do not overwrite those of others. */
export function writeStore(owner: string, storage: WriteStorage | null = local()) {
  const own = `${PREFIX}${encodeURIComponent(owner)}:`;

  const names = (): string[] =>
    Array.from({ length: storage?.length ?? 0 }, (_, at) => storage?.key(at) ?? '').filter((name) =>
      name.startsWith(PREFIX),
    );

  const save = ({ key, ...rest }: KeptWrite): boolean => {
    const text = JSON.stringify(rest);
    try {
      if (text.length <= MOST_CHARACTERS) storage?.setItem(own + key, text);
      return storage !== null && text.length <= MOST_CHARACTERS;
    } catch {
      // No space is left.
      return false;
    }
  };

  return {
    /** All writes of the owner. Removes the old ones of all owners; the owner's own are returned once more. */
    load: (): KeptWrite[] =>
      names().flatMap((name) => {
        const kept = { ...read(storage?.getItem(name)), key: name.slice(own.length) };
        const isSound = typeof kept.operation === 'string' && typeof kept.madeAt === 'number';
        if (!isSound || isOld(kept as KeptWrite)) storage?.removeItem(name);
        return isSound && name.startsWith(own) ? [kept as KeptWrite] : [];
      }),
    /** Stores one more, and returns whether there was room. */
    add: (write: KeptWrite): boolean => names().length < MOST_WRITES && save(write),
    /** Stores one again. */
    save,
    remove: (key: string): void => storage?.removeItem(own + key),
  };
}

function read(text: string | null | undefined): Partial<KeptWrite> {
  try {
    return Object(JSON.parse(text ?? ''));
  } catch {
    return {};
  }
}

function local(): WriteStorage | null {
  try {
    // In some versions of Node it is an empty object.
    return 'getItem' in localStorage ? localStorage : null;
  } catch {
    // There is none, or the page may not use it.
    return null;
  }
}
