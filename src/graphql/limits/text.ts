import { type ASTNode, GraphQLError } from 'graphql';
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

/** Comments and tokens; of a string only its beginning. */
const PARTS = /#[^\r\n]*|"""|"|\.\.\.|[!$&():=@[\]{|}]|-?\d[\w.+-]*|\w+/g;
/** What can end a string, and what is escaped in it. */
const IN_STRING = /\\[^]|["\r\n]/g;
const IN_BLOCK_STRING = /\\?"""/g;

/**
 * Scans the text of an operation once, before any parser: those are recursive, and quote the text in their errors.
 * An invalid text is left to the parser. O(n).
 * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for too many tokens, or selections nested too deep.
 * @throws BadUserInput `BAD_USER_INPUT` for a name, number, string or value that exceeds its limit.
 */
export function checkText(text: string, { maxNesting, maxTokens }: TextLimits): void {
  const parts = new RegExp(PARTS);
  let tokens = 0;
  let selections = 0;
  let values = 0;
  /** Within the parentheses of arguments or variables, which are never nested. */
  let inParentheses = false;
  for (let found = parts.exec(text); found; found = parts.exec(text)) {
    const [part] = found;
    if (part.startsWith('#')) continue;
    tokens += 1;
    if (tokens > maxTokens) {
      throw tooExpensive(
        `The operation has more than ${maxTokens} tokens. Shorten or split the operation.`,
      );
    }
    if (part === '"' || part === '"""') {
      const end = endOfString(text, parts.lastIndex, part);
      if (end === null) return;
      parts.lastIndex = end;
    } else if (part === '(') {
      inParentheses = true;
      values = 0;
    } else if (part === ')') {
      inParentheses = false;
    } else if (part === '{' || part === '[') {
      if (inParentheses) values += 1;
      else selections += 1;
      if (values > MAX_NESTED_VALUES) {
        throw new BadUserInput(
          `A value in the operation is nested more than ${MAX_NESTED_VALUES} levels deep.`,
        );
      }
      if (selections > maxNesting) throw tooDeep(maxNesting);
    } else if (part === '}' || part === ']') {
      if (inParentheses) values -= 1;
      else selections -= 1;
    } else if (part.length > MAX_NAME) {
      throw new BadUserInput(
        `A name or number in the operation has more than ${MAX_NAME} characters.`,
      );
    }
  }
}

/** Where a string ends of which `quote` has been read; `null` if it does not end. */
function endOfString(text: string, from: number, quote: string): number | null {
  const ends = new RegExp(quote === '"' ? IN_STRING : IN_BLOCK_STRING);
  ends.lastIndex = from;
  for (let found = ends.exec(text); found; found = ends.exec(text)) {
    if (found[0].startsWith('\\')) continue;
    if (found[0] !== quote) return null;
    const length = found.index - from;
    if (length <= LONGEST_TEXT) return ends.lastIndex;
    throw new BadUserInput(
      `A string in the operation has ${length} characters; the limit is ${LONGEST_TEXT}.`,
    );
  }
  return null;
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

/** An error of validation. Names the place, not the node: an error at a node that is no field counts as one about values. */
export function invalid(sentence: string, { loc }: ASTNode): GraphQLError {
  return new GraphQLError(sentence, {
    ...(loc && { source: loc.source, positions: [loc.start] }),
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
  });
}
