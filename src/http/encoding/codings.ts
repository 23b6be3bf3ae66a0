import type { IncomingHttpHeaders } from 'node:http';
import { BoundedMap } from '../../bounded-map.ts';
import { acceptedRanges } from '../door/headers/accept.ts';

/** A content coding that the gateway can send. */
export type Coding = 'br' | 'gzip';

/** What a client can decode, by its `Accept-Encoding`. */
export interface AcceptedCodings {
  /** The coding for a body of known length; `null`: send it uncompressed. */
  readonly whole: Coding | null;
  /** The coding for a body sent in pieces: the one whose pieces need no memory between them. */
  readonly pieces: 'gzip' | null;
  /** Whether the client refuses a body without a coding, however small it is. */
  readonly refusesIdentity: boolean;
}

/** Every coding, the preferred one first. */
export const codings: readonly Coding[] = ['br', 'gzip'];

/** Headers that are remembered: browsers send a few. */
const MOST_HEADERS = 64;
/** A longer header is not read: it names no more codings than there are, and would be read for each request. */
const MOST_CHARACTERS = 256;

const NONE: AcceptedCodings = { whole: null, pieces: null, refusesIdentity: false };

/**
 * Selects the coding with the highest quality, and among equal ones the first of `available`. Identity is selected
 * if it has a higher quality, if there is no header, and if no other remains: RFC 9110 permits 406 then, but a
 * readable body is more useful.
 * Implements: RFC 9110 section 12.5.3.
 */
export function negotiate(
  acceptEncoding: string | undefined,
  available: readonly Coding[] = codings,
): AcceptedCodings {
  const ranges = acceptedRanges(acceptEncoding);
  const qualityOf = (...names: readonly string[]): number | undefined => {
    const named = ranges.filter(({ type }) => names.includes(type));
    return named.length > 0 ? Math.max(...named.map(({ quality }) => quality)) : undefined;
  };
  const others = qualityOf('*');
  const of = (coding: Coding): number =>
    // Some old clients use this name; RFC 9110 section 8.4.1.3 defines it as equal.
    (coding === 'gzip' ? qualityOf('gzip', 'x-gzip') : qualityOf(coding)) ?? others ?? 0;
  const identity = qualityOf('identity');
  const best = Math.max(0, ...available.map(of));
  const isWanted = (coding: Coding): boolean => of(coding) > 0 && of(coding) >= (identity ?? 0);
  return {
    whole: available.find((coding) => of(coding) === best && isWanted(coding)) ?? null,
    pieces: available.includes('gzip') && isWanted('gzip') ? 'gzip' : null,
    refusesIdentity: (identity ?? others) === 0,
  };
}

/** Whether a `Cache-Control` header forbids to change how a body is encoded. RFC 9111 section 5.2.2.6. */
export function forbidsTransform(cacheControl: string | undefined): boolean {
  return cacheControl !== undefined && /(^|[\s,])no-transform($|[\s,;=])/i.test(cacheControl);
}

/** Determines how the responses to requests are encoded. */
export class Codings {
  readonly #known = new BoundedMap<AcceptedCodings>({ max: MOST_HEADERS });

  /** The first of these codings, in which something is packed already, that a request wants as much as any other. */
  packed<C extends Coding>(
    { headers }: { readonly headers: IncomingHttpHeaders },
    available: readonly C[],
  ): C | null {
    if (forbidsTransform(headers['cache-control'])) return null;
    const header = headers['accept-encoding'] ?? '';
    const { whole } = header.length > MOST_CHARACTERS ? NONE : negotiate(header, available);
    return available.find((each) => each === whole) ?? null;
  }

  /** What may be sent to the client of a request. */
  for({ headers }: { readonly headers: IncomingHttpHeaders }): AcceptedCodings {
    const header = headers['accept-encoding'];
    if (header === undefined || header.length > MOST_CHARACTERS) return NONE;
    if (forbidsTransform(headers['cache-control'])) return NONE;
    const known = this.#known.get(header);
    if (known) return known;
    const found = negotiate(header);
    this.#known.set(header, found);
    return found;
  }
}
