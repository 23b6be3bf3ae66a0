/** A type, or a coding, that a client accepts, and how much it wants it. */
interface AcceptedRange {
  /** In lower case; `*` matches any part. */
  readonly type: string;
  /** Its parameters in lower case, without quotes and without `q`. */
  readonly parameters: readonly string[];
  /** From 0, not at all, to 1. */
  readonly quality: number;
}

const QUALITY = /^q=/;

/** The ranges of an `Accept` or `Accept-Encoding` header in their order; none without one. */
export function acceptedRanges(accept: string | null | undefined): readonly AcceptedRange[] {
  if (!accept) return [];
  return accept
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [type = '', ...rest] = range.replace(/[\s"]/g, '').split(';');
      return {
        type,
        parameters: rest.filter((each) => !QUALITY.test(each)),
        quality: qualityIn(rest),
      };
    });
}

/**
 * How much a type such as `text/html` is wanted, from 0 to 1, by the most specific range that includes it, as RFC 9110
 * has it. Without a header, everything is.
 */
export function qualityOf(accept: string | null | undefined, type: string): number {
  const ranges = acceptedRanges(accept);
  if (ranges.length === 0) return 1;
  for (const name of [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*']) {
    const same = ranges.filter((range) => range.type === name);
    if (same.length > 0) return Math.max(...same.map(({ quality }) => quality));
  }
  return 0;
}

/**
 * The preferred JSON type, `application/json` if both are preferred equally. Its quality is 0 if there is none.
 */
export function acceptedJson(accept: string | null | undefined): {
  readonly type: string;
  readonly quality: number;
} {
  const [usual, other] = ['application/json', 'application/graphql-response+json'] as const;
  const quality = qualityOf(accept, usual);
  const ofOther = qualityOf(accept, other);
  return ofOther > quality ? { type: other, quality: ofOther } : { type: usual, quality };
}

/**
 * The ranges that name a type explicitly and prefer it most, unless JSON is preferred: a wildcard expresses no
 * preference. `suits` excludes those that mean another form of it.
 */
export function rangesNaming(
  accept: string | null | undefined,
  type: string,
  suits: (range: AcceptedRange) => boolean = () => true,
): readonly AcceptedRange[] {
  const named = acceptedRanges(accept).filter((range) => range.type === type && suits(range));
  const best = Math.max(0, ...named.map(({ quality }) => quality));
  if (best === 0 || best < acceptedJson(accept).quality) return [];
  return named.filter(({ quality }) => quality === best);
}

/** Whether a header says of anything how much it is wanted. */
export function hasQualities(accept: string | null | undefined): boolean {
  return /;\s*q\s*=/i.test(accept ?? '');
}

/** An invalid quality is ignored. */
function qualityIn(parameters: readonly string[]): number {
  const written = parameters.find((each) => QUALITY.test(each));
  const quality = Number(written?.slice(2) || 1);
  return quality >= 0 && quality <= 1 ? quality : 1;
}
