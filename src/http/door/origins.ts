import { GatewayError } from '../../errors.ts';
import { type HeaderReader, isForeignPage, isUnmarkedByBrowser } from './foreign-page.ts';

/** Response headers that a page of a listed origin may read, in addition to those that CORS always exposes. */
const EXPOSED = 'X-Request-Id, Age, ETag, Retry-After, Preference-Applied, Idempotency-Replayed';
/** How long a browser may store the response to a preflight, in seconds. */
const PREFLIGHT_SECONDS = '600';

/** Pages that this machine serves itself, as a developer's server does. */
const LOOPBACK = /^https?:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/;
/** Refused origins that are reported to the operator at most: any caller can make them up. */
const MOST_REPORTED = 20;

/** The origin in a header, if it is one: any caller can write another text. */
function originIn(header: HeaderReader): string | null {
  const origin = header('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).origin === origin ? origin : null;
}

/** What pages of one origin may do. */
export interface OriginRights {
  /** Whether they are allowed. */
  readonly isListed: boolean;
  /**
   * The CORS headers of every response, names and values alternating. The response to an origin that is not listed
   * has none, not even `null`, which is the origin of every sandboxed frame; if some are listed, `Vary` prevents a
   * shared cache from returning one origin's response to another.
   */
  readonly headers: readonly string[];
}

interface OriginsOptions {
  /** Whether pages of this machine are allowed without being listed. */
  readonly loopback: boolean;
  /** Called with a sentence about each rejected origin. */
  readonly onRefused: (sentence: string) => void;
}

/**
 * The one place that decides what pages of other origins may do: read responses (CORS) and send requests (CSRF).
 * Callers are identified by a header and never by a cookie, so credentials are off.
 */
export class Origins {
  readonly #listed: readonly string[];
  readonly #options: OriginsOptions;
  /** Those that were reported to the operator. */
  readonly #reported = new Set<string>();
  /** The rights of origins that are not listed, and of requests that name none. */
  readonly ofNone: OriginRights;
  /** Most requests in a row come from pages of one origin. */
  #last: { readonly origin: string; readonly rights: OriginRights };

  /** Pages of the `listed` origins are allowed; without any, only the gateway's own pages. */
  constructor(listed: readonly string[], options: OriginsOptions) {
    this.#listed = listed;
    this.#options = options;
    this.ofNone = { isListed: false, headers: this.allowsOthers ? ['Vary', 'Origin'] : [] };
    this.#last = { origin: '', rights: this.ofNone };
  }

  /** Whether pages of any other origin are allowed. If not, preflights have no response of their own. */
  get allowsOthers(): boolean {
    return this.#listed.length > 0 || this.#options.loopback;
  }

  /**
   * Reports each origin whose preflight is refused to the operator, once, with the setting that would allow it.
   */
  #noteRefusal(header: HeaderReader): void {
    const origin = originIn(header);
    if (this.rightsOf(origin).isListed || this.#reported.size >= MOST_REPORTED) return;
    if (origin === null || this.#reported.has(origin)) return;
    this.#reported.add(origin);
    this.#options.onRefused(
      `A request from a page of ${origin} was rejected. To allow it, set CORS_ORIGINS=${[...this.#listed, origin].join(',')}`,
    );
  }

  /** What pages of an origin may do, by the `Origin` header of a request. Parses no URL. */
  rightsOf(origin: string | null | undefined): OriginRights {
    if (!origin) return this.ofNone;
    if (origin !== this.#last.origin && this.#isListed(origin)) {
      const cors = [
        'Access-Control-Allow-Origin',
        origin,
        'Access-Control-Expose-Headers',
        EXPOSED,
      ];
      const rights = { isListed: true, headers: [...this.ofNone.headers, ...cors] };
      this.#last = { origin, rights };
    }
    return origin === this.#last.origin ? this.#last.rights : this.ofNone;
  }

  /**
   * The headers of the response to a preflight, in addition to the common ones: these methods, and any header. A
   * refused one is reported to the operator.
   */
  preflightHeaders(header: HeaderReader, methods: string): Readonly<Record<string, string>> {
    this.#noteRefusal(header);
    if (!this.rightsOf(header('origin')).isListed) return {};
    const wanted = header('access-control-request-headers');
    return {
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Max-Age': PREFLIGHT_SECONDS,
      ...(wanted ? { 'Access-Control-Allow-Headers': wanted } : {}),
    };
  }

  /**
   * Why a request is refused that a page of another origin sent, which is how a GET arrives without a preflight. It
   * changes nothing, but it would spend the upstream's rate limit. `null` for any other.
   */
  foreignRefusal(header: HeaderReader): GatewayError | null {
    if (!isForeignPage(header, this.#isListed)) return null;
    this.#noteRefusal(header);
    return new GatewayError(
      'FORBIDDEN',
      `Pages of ${originIn(header) ?? 'this origin'} are not allowed. Set CORS_ORIGINS.`,
    );
  }

  /**
   * Why a GET is refused that can be from a page of another origin; see `foreignRefusal` and `isUnmarkedByBrowser`.
   * `null` for any other.
   */
  getRefusal(header: HeaderReader): GatewayError | null {
    const refusal = this.foreignRefusal(header);
    if (refusal || !isUnmarkedByBrowser(header, this.#isListed)) return refusal;
    return new GatewayError(
      'FORBIDDEN',
      'The browser did not send the origin of this request. Use POST, or add the header "Apollo-Require-Preflight: true".',
    );
  }

  readonly #isListed = (origin: string): boolean =>
    this.#listed.includes(origin) || (this.#options.loopback && LOOPBACK.test(origin));
}
