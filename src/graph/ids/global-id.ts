import { BadUserInput } from '../../errors.ts';
import type { Seal } from './seal.ts';

/** Builds the opaque id under which `Query.node` finds an object again. */
export function encodeGlobalId(typename: string, id: string | number | bigint): string {
  return Buffer.from(`${typename}:${id}`).toString('base64url');
}

/** A global id without its encoding: a type, and the upstream's integer or a sealed text, see `Seal`. */
const globalIdForm = /^([A-Za-z]{1,64}):([1-9]\d{0,14}|~[\w-]+)$/;

/**
 * Takes a global id apart.
 * @throws BadUserInput `BAD_USER_INPUT` for anything that `encodeGlobalId` did not make.
 */
export function decodeGlobalId(globalId: string): { typename: string; id: string } {
  const match = globalIdForm.exec(Buffer.from(globalId, 'base64url').toString());
  const [, typename, id] = match ?? [];
  if (typename === undefined || id === undefined) throw notOfThisGraph(globalId);
  return { typename, id };
}

/** `BAD_USER_INPUT` for a text that is no global id. */
export function notOfThisGraph(globalId: string): BadUserInput {
  return new BadUserInput(
    `${quote(globalId)} is not an ID of this graph. Pass the \`id\` of an object unchanged.`,
  );
}

/** Marks a sealed text in a global id, which no integer begins with. */
const SEALED = '~';

/** The second part of a global id that holds a secret text. */
export function encodeSealed(text: string, seal: Seal): string {
  return SEALED + seal.seal(text);
}

/** The secret text in the second part of a global id; `null` if it was not sealed with this credential. */
export function decodeSealed(part: string, seal: Seal): string | null {
  return part.startsWith(SEALED) ? seal.open(part.slice(SEALED.length)) : null;
}

/** What an `id` argument refers to. */
export interface Reference {
  /** `null` if it is the upstream's integer, which says no type. */
  readonly typename: string | null;
  readonly id: number;
}

/**
 * Reads an `id` argument: a global id of the expected type, or the upstream's integer.
 * @throws BadUserInput `BAD_USER_INPUT` for another type's id, and for anything else.
 */
export function parseId(typename: string, text: string): number {
  return parseReference([typename], text).id;
}

/** The same for an argument that accepts several types. */
export function parseReference(typenames: readonly string[], text: string): Reference {
  const digits = text.trim();
  if (isInteger(digits)) return { typename: null, id: positive(Number(digits), text) };
  const { id, typename } = decodeGlobalId(text);
  if (!typenames.includes(typename)) {
    throw new BadUserInput(
      `${quote(text)} is the ID of a ${typename}. This argument needs the ID of a ${typenames.join(' or a ')}.`,
    );
  }
  return { typename, id: positive(Number(id), text) };
}

/** Whether a text that can also be something else is a global id, or the upstream's integer. */
export function isReference(text: string): boolean {
  if (isInteger(text.trim())) return true;
  return /^[\w-]+$/.test(text) && globalIdForm.test(Buffer.from(text, 'base64url').toString());
}

function isInteger(digits: string): boolean {
  return /^\d{1,15}$/.test(digits);
}

function positive(id: number, text: string): number {
  if (id > 0) return id;
  throw new BadUserInput(`${quote(text)} is not an ID. An integer ID must be 1 or greater.`);
}

/** The value that a caller sent, shortened for a message. */
function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
