import { BadUserInput, type InputIssue, InvalidInput } from '../errors.ts';
import { parseId } from './identifier.ts';

/**
 * Collects every fault of a mutation's arguments before a call is spent. A check that fails notes an
 * issue and lets the others go on; `done` throws if there was any.
 */
export class InputChecks {
  readonly #issues: InputIssue[] = [];
  readonly #base: readonly string[];

  /** `base` is where the checked members stand, e.g. `input`. */
  constructor(...base: readonly string[]) {
    this.#base = base;
  }

  /** Notes a fault of a member; `member` may lead further down, as in `data.fields.email`. */
  issue(member: string, message: string): void {
    this.#issues.push({ path: [...this.#base, ...member.split('.')], message });
  }

  /** An id of a type of this graph, global or the upstream's integer; 0 after a fault. */
  id(member: string, typename: string, text: string): number {
    try {
      return parseId(typename, text);
    } catch (error) {
      if (!(error instanceof BadUserInput)) throw error;
      this.issue(member, error.message);
      return 0;
    }
  }

  /** An upstream's integer id. */
  positive(member: string, value: number): void {
    if (value < 1) this.issue(member, 'must be a whole number from 1 on.');
  }

  /** A text that, if given, says something. */
  notBlank(member: string, value: string | null | undefined): void {
    if (value != null && value.trim() === '') this.issue(member, 'must not be blank.');
  }

  /** The last part of an address. */
  slug(member: string, value: string | null | undefined): void {
    if (value != null && !/^[\p{L}\p{N}_-]+$/u.test(value)) {
      this.issue(member, 'must consist of letters, digits, hyphens and underscores.');
    }
  }

  /** @throws InvalidInput `BAD_USER_INPUT` with all issues, in the order they were noted. */
  done(): void {
    if (this.#issues.length > 0) throw new InvalidInput(this.#issues);
  }
}
