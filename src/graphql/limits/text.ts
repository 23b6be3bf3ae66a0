import { BadUserInput, GatewayError } from '../../errors.ts';

/** Characters of the longest text that the graph takes anywhere. */
export const LONGEST_TEXT = 10_000;
/** Characters of a name, and of a number: complaints repeat both. */
const MAX_NAME = 200;
/** Maximum nesting of lists and objects, in a text and in variables. */
export const MAX_NESTED_VALUES = 16;

/** What a text of an operation may have. */
export interface TextLimits {
  readonly maxTokens: number;
  /** Maximum nesting of selections, including those without a depth of their own. */
  readonly maxNesting: number;
}

/**
 * Scans the text of an operation once, before any parser: those are recursive, and quote the text in their errors.
 * The rest of an invalid text is left to the parser. O(n).
 * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for too many tokens, or selections nested too deep.
 * @throws BadUserInput `BAD_USER_INPUT` for a name, number, string or value that exceeds its limit.
 */
export function checkText(text: string, limits: TextLimits): void {
  new TextCheck(text, limits).run();
}

class TextCheck {
  readonly #text: string;
  readonly #limits: TextLimits;
  #at = 0;
  #tokens = 0;
  #selections = 0;
  #values = 0;
  /** Within the parentheses of arguments or variables, which are never nested. */
  #inParentheses = false;

  constructor(text: string, limits: TextLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  run(): void {
    const { maxTokens } = this.#limits;
    while (this.#at < this.#text.length) {
      const sign = this.#text.charCodeAt(this.#at);
      if (isIgnored(sign)) {
        this.#at += 1;
        continue;
      }
      if (sign === HASH) {
        this.#skipComment();
        continue;
      }
      if (!this.#skipToken(sign)) return;
      this.#tokens += 1;
      if (this.#tokens > maxTokens) {
        throw tooExpensive(
          `The operation has more than ${maxTokens} tokens. Shorten or split the operation.`,
        );
      }
    }
  }

  /** False if there is no token. */
  #skipToken(sign: number): boolean {
    if (isOfName(sign)) this.#skipWhile(isOfName, 'name');
    if (isOfName(sign)) return true;
    if (sign === MINUS) {
      this.#skipWhile(isOfNumber, 'number');
      return true;
    }
    if (sign === QUOTE) return this.#skipString();
    if (sign === DOT) {
      this.#at += 3;
      return this.#text.startsWith('...', this.#at - 3);
    }
    this.#at += 1;
    if (OPENING.has(sign)) this.#open(sign);
    else if (CLOSING.has(sign)) this.#close(sign);
    else return OTHERS.has(sign);
    return true;
  }

  #open(sign: number): void {
    if (sign === PARENTHESIS) {
      this.#inParentheses = true;
      this.#values = 0;
    } else if (this.#inParentheses) {
      this.#values += 1;
      if (this.#values > MAX_NESTED_VALUES) {
        throw new BadUserInput(
          `A value in the operation is nested more than ${MAX_NESTED_VALUES} levels deep.`,
        );
      }
    } else {
      this.#selections += 1;
      if (this.#selections > this.#limits.maxNesting) throw tooDeep(this.#limits.maxNesting);
    }
  }

  #close(sign: number): void {
    if (sign === CLOSING_PARENTHESIS) this.#inParentheses = false;
    else if (this.#inParentheses) this.#values -= 1;
    else this.#selections -= 1;
  }

  #skipComment(): void {
    while (this.#at < this.#text.length && !isLineEnd(this.#text.charCodeAt(this.#at))) {
      this.#at += 1;
    }
  }

  #skipWhile(belongs: (sign: number) => boolean, kind: string): void {
    const from = this.#at;
    do this.#at += 1;
    while (this.#at < this.#text.length && belongs(this.#text.charCodeAt(this.#at)));
    if (this.#at - from > MAX_NAME) {
      throw new BadUserInput(`A ${kind} in the operation has more than ${MAX_NAME} characters.`);
    }
  }

  /** False for a string that does not end. */
  #skipString(): boolean {
    const block = this.#text.startsWith('"""', this.#at);
    const from = this.#at;
    this.#at += block ? 3 : 1;
    const ended = block ? this.#skipToBlockEnd() : this.#skipToStringEnd();
    if (ended && this.#at - from > LONGEST_TEXT + 6) {
      throw new BadUserInput(
        `A string in the operation has ${this.#at - from} characters; the limit is ${LONGEST_TEXT}.`,
      );
    }
    return ended;
  }

  #skipToBlockEnd(): boolean {
    for (;;) {
      const end = this.#text.indexOf('"""', this.#at);
      if (end < 0) return false;
      this.#at = end + 3;
      if (this.#text.charCodeAt(end - 1) !== BACKSLASH) return true;
    }
  }

  #skipToStringEnd(): boolean {
    while (this.#at < this.#text.length) {
      const sign = this.#text.charCodeAt(this.#at);
      this.#at += sign === BACKSLASH ? 2 : 1;
      if (sign === QUOTE) return true;
      if (isLineEnd(sign)) return false;
    }
    return false;
  }
}

/** The error for selections nested too deep. */
export function tooDeep(maxNesting: number): GatewayError {
  return tooExpensive(
    `Selections are nested more than ${maxNesting} levels deep. Reduce the nesting.`,
  );
}

/** `OPERATION_TOO_EXPENSIVE`. */
export function tooExpensive(message: string): GatewayError {
  return new GatewayError('OPERATION_TOO_EXPENSIVE', message);
}

/** Whether a text has more lines than `most`. */
export function hasMoreLines(text: string, most: number): boolean {
  let lines = 1;
  for (let at = 0; at < text.length && lines <= most; at += 1) {
    if (isLineEnd(text.charCodeAt(at))) lines += 1;
  }
  return lines > most;
}

const codes = (signs: string): ReadonlySet<number> =>
  new Set(Array.from(signs, (sign) => sign.charCodeAt(0)));
const code = (sign: string): number => sign.charCodeAt(0);

const HASH = code('#');
const QUOTE = code('"');
const BACKSLASH = code('\\');
const DOT = code('.');
const MINUS = code('-');
const PARENTHESIS = code('(');
const CLOSING_PARENTHESIS = code(')');
const OPENING = codes('({[');
const CLOSING = codes(')}]');
const OTHERS = codes('!$&:=@|');
const NUMBER_SIGNS = codes('.+-');
const IGNORED = codes('\uFEFF\t \n\r,');

const isIgnored = (sign: number): boolean => IGNORED.has(sign);
const isLineEnd = (sign: number): boolean => sign === 10 || sign === 13;
const isDigit = (sign: number): boolean => sign >= 48 && sign <= 57;
/** Letters in both cases, digits and the underscore: numbers without sign or fraction too. */
const isOfName = (sign: number): boolean =>
  (sign >= 97 && sign <= 122) || (sign >= 65 && sign <= 90) || sign === 95 || isDigit(sign);
const isOfNumber = (sign: number): boolean => isOfName(sign) || NUMBER_SIGNS.has(sign);
