import type { Credential } from '../auth/credential.ts';
import type { Digest } from '../digest.ts';
import type { UpstreamName } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { LOOK_EVERY_MS, WatchedFile } from '../storage/watched-file.ts';
import type { Endpoint } from './apis.ts';
import { MAX_SECRET_BYTES, secretIn } from './secret-text.ts';

/** Characters of a digest that name a key: enough to distinguish all keys of an installation. */
const NAME_LENGTH = 16;

interface OwnKeyOptions {
  readonly upstream: UpstreamName;
  /** `null` where the API is not configured. */
  readonly endpoint: Endpoint | null;
  readonly clock: Clock;
  /** Creates the name of a key, which does not reveal the key. */
  readonly digest: Digest;
  /** Reports to the operator, in one sentence, that the file of the key cannot be used. */
  readonly complain: (sentence: string) => void;
  /** Called when another key is in use, with the one before. */
  readonly replaced: (key: Credential, before: Credential) => void;
}

/**
 * The gateway's own key of an upstream, which stands for all callers. A key from a file is read again when the file
 * changes, at most two seconds later, so that it is replaced without a restart. A file that cannot be used changes nothing.
 *
 * Each key has a partition of its own, by a digest: another key can belong to another account, so nothing that was read
 * with one is shown for the other, and each has its own window, as the upstream counts by key.
 */
export class OwnKey {
  /** What goes upstream from now on. A field, as it is read for each list of each operation. */
  credential: Credential;
  readonly #options: OwnKeyOptions;
  #file: WatchedFile<string> | null = null;

  constructor(options: OwnKeyOptions) {
    this.#options = options;
    this.credential = this.#credentialOf(options.endpoint?.apiKey ?? '');
    const { clock, complain, endpoint, upstream } = options;
    if (endpoint?.keyFile === undefined) return;
    const file = new WatchedFile({
      file: endpoint.keyFile,
      maxBytes: MAX_SECRET_BYTES,
      parse: secretIn,
      initial: endpoint.apiKey,
      clock,
      failed: (reason) =>
        complain(
          `${upstream}_API_KEY_FILE cannot be used: ${reason}. The previous key stays in use.`,
        ),
    });
    this.#file = file;
    this.#follow(file);
  }

  /** Whether the file of the key cannot be used, so that an older key is in use. */
  get isFileUnusable(): boolean {
    return this.#file?.isUnusable ?? false;
  }

  /** Checks the file every second. A part of a key looks like a key, so only a settled file is used. */
  #follow(file: WatchedFile<string>): void {
    this.#options.clock.after(LOOK_EVERY_MS, () => {
      const secret = file.current;
      const before = this.credential;
      if (file.isSettled && secret !== before.secret) {
        this.credential = this.#credentialOf(secret);
        this.#options.replaced(this.credential, before);
      }
      this.#follow(file);
    });
  }

  #credentialOf(secret: string): Credential {
    const name = this.#options.digest(secret).slice(0, NAME_LENGTH);
    return { partition: `gateway-${name}`, secret };
  }
}

/** The gateway's own keys of both upstreams. */
export type OwnKeys = Readonly<
  Record<UpstreamName, { readonly credential: Credential; readonly isFileUnusable?: boolean }>
>;
