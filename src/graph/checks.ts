import {
  BadUserInput,
  type InputFault,
  type InputIssue,
  type InputIssueCode,
  InvalidInput,
} from '../errors.ts';
import { parseUrl } from '../upstream/decode/url.ts';
import { parseReference, type Reference } from './ids/global-id.ts';

/** Minimum number of characters of a password. */
const PASSWORD_LENGTH = 5;
/** Minimum number of characters of a user name. The API documentation only says "valid". */
const USERNAME_LENGTH = 3;

/** Creates a validation error; the codes and the `params` of each are in `InputIssueCode` of the graph. */
export function fault(
  code: InputIssueCode,
  message: string,
  params: Readonly<Record<string, unknown>> = {},
): InputFault {
  return { code, message, params };
}

/**
 * Collects all validation errors of a mutation's arguments before a request is sent. A failed check adds an issue
 * and continues; `done` throws if there is any.
 */
export class InputChecks {
  #issues: InputIssue[] = [];
  readonly #base: readonly string[];

  /** `base` is the path to the checked members, e.g. `input`. */
  constructor(...base: readonly string[]) {
    this.#base = base;
  }

  /** Checks of another argument, whose issues are collected with these. */
  of(...base: readonly string[]): InputChecks {
    const checks = new InputChecks(...base);
    checks.#issues = this.#issues;
    return checks;
  }

  /** Adds an issue for a member; `member` may be a path such as `data.fields.email`. */
  issue(member: string, found: InputFault): void {
    this.#issues.push({ path: [...this.#base, ...member.split('.')], ...found });
  }

  /** An id of a type of this graph, global or the upstream's integer; 0 after an issue. */
  id(member: string, typename: string, text: string): number {
    return this.reference(member, [typename], text).id;
  }

  /** An id of one of several types, of which the first is the usual one; the id 0 after an issue. */
  reference(member: string, typenames: readonly [string, ...string[]], text: string): Reference {
    try {
      return parseReference(typenames, text);
    } catch (error) {
      if (!(error instanceof BadUserInput)) throw error;
      this.issue(member, fault('INVALID_ID', error.message, { type: typenames[0] }));
      return { typename: null, id: 0 };
    }
  }

  /**
   * The integer id that one of two arguments gives: `byId` an ID, `byInteger` the upstream's integer, for clients
   * whose variables are integers; 0 after an issue.
   */
  eitherId(
    [byId, byInteger]: readonly [string, string],
    typenames: readonly [string, ...string[]],
    given: Readonly<Record<string, string | number | null | undefined>>,
  ): Reference {
    const [id, integer] = [given[byId], given[byInteger]];
    this.anyGiven({ [byId]: id, [byInteger]: integer });
    if (typeof integer === 'number') this.positive(byInteger, integer);
    if (typeof id !== 'string') return { typename: null, id: Number(integer ?? 0) };
    const reference = this.reference(byId, typenames, id);
    if (integer != null && reference.id > 0 && reference.id !== integer) {
      const message = `is another ID than \`${byInteger}\`.`;
      this.issue(byId, fault('INVALID_ID', message, { type: typenames[0] }));
    }
    return reference;
  }

  /** An upstream's integer id, or a count. */
  positive(member: string, value: number): void {
    if (value >= 1) return;
    this.issue(member, fault('OUT_OF_RANGE', 'must be a positive integer.', { min: 1 }));
  }

  /** A text that is not blank, if given. */
  notBlank(member: string, value: string | null | undefined): void {
    if (value != null && value.trim() === '') {
      this.issue(member, fault('BLANK', 'must not be blank.'));
    }
  }

  /** The last part of a URL. */
  slug(member: string, value: string | null | undefined): void {
    if (value != null && !/^[\p{L}\p{N}_-]+$/u.test(value)) {
      const message = 'may contain only letters, digits, hyphens and underscores.';
      this.issue(member, fault('INVALID_CHARACTERS', message, { signs: '-_' }));
    }
  }

  /** An email address without a display name. The upstream checks further rules. */
  email(member: string, value: string | null | undefined): void {
    if (value != null && !/^[^\s@<>"(),:;]+@[^\s@<>"(),:;.]+(\.[^\s@<>"(),:;.]+)+$/.test(value)) {
      const message = 'must be an email address, e.g. `ann@example.com`.';
      this.issue(member, fault('INVALID_EMAIL', message));
    }
  }

  /** A password of the length that the upstream requires. Implements: Link API > Limits. */
  password(member: string, value: string | null | undefined): void {
    if (value != null) this.#atLeast(member, value, PASSWORD_LENGTH);
  }

  /** A color as HEX digits, short or long. */
  hexColor(member: string, value: string | null | undefined): void {
    if (value != null && !/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value)) {
      const message = 'must be a hex color: `#RRGGBB` or `#RGB`.';
      this.issue(member, fault('INVALID_COLOR', message, { format: '#RRGGBB' }));
    }
  }

  /** An http or https URL. */
  webAddress(member: string, value: string | null | undefined): void {
    if (value != null && !isWebAddress(value)) {
      const message = 'must be an http or https URL, e.g. `https://example.com/shop`.';
      this.issue(member, fault('INVALID_URL', message));
    }
  }

  /** A domain with its scheme. It may have a port but no path: every path is a separate link. */
  domain(member: string, value: string | null | undefined): void {
    if (value != null && !(isWebAddress(value) && /^https?:\/\/[^/?#@\\]+\/?$/i.test(value))) {
      const message = 'must be an http or https URL without a path, e.g. `https://go.example.com`.';
      this.issue(member, fault('INVALID_DOMAIN', message));
    }
  }

  /** An update with at least one member besides its id. */
  anyGiven(given: Readonly<Record<string, unknown>>): void {
    if (Object.values(given).every((value) => value == null)) this.#noneOf(Object.keys(given));
  }

  /** At least one of these members, even if it is null. */
  anyPresent(members: readonly string[], given: { readonly [name: string]: unknown }): void {
    if (members.every((name) => given[name] === undefined)) this.#noneOf(members);
  }

  #noneOf(members: readonly string[]): void {
    const names = members.map((name) => `\`${name}\``);
    this.#issues.push({
      path: [...this.#base],
      ...fault('REQUIRED_ANY_OF', `must have at least one of ${names.join(', ')}.`, { members }),
    });
  }

  /** A name to log in with. The upstream may be stricter. */
  username(member: string, value: string): void {
    if (!/^[\p{L}\p{N}._-]+$/u.test(value)) {
      const message = 'may contain only letters, digits, dots, hyphens and underscores.';
      this.issue(member, fault('INVALID_CHARACTERS', message, { signs: '.-_' }));
    } else this.#atLeast(member, value, USERNAME_LENGTH);
  }

  /** A time in the future: a time in the past is considered a mistake. */
  future(member: string, value: string | null | undefined, wallMs: number): void {
    if (value != null && Date.parse(value) <= wallMs) {
      this.issue(member, fault('NOT_IN_FUTURE', 'must be in the future.'));
    }
  }

  /** A color as `rgb(r,g,b)`. Implements: Link API > QR codes > POST /api/qr/add. */
  rgbColor(member: string, value: string | null | undefined): void {
    if (value == null) return;
    const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/i.exec(value)?.slice(1);
    if (!parts?.every((part) => Number(part) <= 255)) {
      const message = 'must be a color of the form `rgb(r,g,b)`, each value from 0 to 255.';
      this.issue(member, fault('INVALID_COLOR', message, { format: 'rgb(r,g,b)' }));
    }
  }

  /** The path or URL of a picture. Implements: Link API > QR codes > POST /api/qr/add. */
  logo(member: string, value: string | null | undefined): void {
    if (value == null) return;
    const path = value.replace(/[?#].*$/s, '');
    const scheme = /^[a-z][a-z\d+.-]*:/i.test(value);
    if (!/^\S*[^\s/]\.(?:png|jpe?g)$/i.test(path) || (scheme && !isWebAddress(value))) {
      const message = 'must be the path or the http(s) URL of a PNG or JPEG image.';
      this.issue(member, fault('INVALID_PICTURE', message, { formats: ['png', 'jpg'] }));
    }
  }

  /** A phone number, with the usual separators. */
  phone(member: string, value: string): void {
    const digits = value.replace(/\D/g, '').length;
    if (!/^\+?[\d\s()./-]+$/.test(value) || digits < 3) {
      const message = 'must be a phone number, e.g. `+44 20 7946 0000`.';
      this.issue(member, fault('INVALID_PHONE', message));
    }
  }

  /** @throws InvalidInput `BAD_USER_INPUT` with all issues, in the order they were noted. */
  done(): void {
    if (this.#issues.length > 0) throw new InvalidInput(this.#issues);
  }

  #atLeast(member: string, { length }: string, min: number): void {
    if (length >= min) return;
    this.issue(member, fault('TOO_SHORT', `must have at least ${min} characters.`, { min }));
  }
}

/** Whether a text is a URL with http or https and a host. */
function isWebAddress(text: string): boolean {
  // `URL` alone accepts a missing slash or host, and whitespace around and inside the text.
  return /^https?:\/\/[^\s/?#\\]\S*$/i.test(text) && parseUrl(text) !== null;
}
