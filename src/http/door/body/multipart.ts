import type { GraphQLParams } from 'graphql-yoga';
import { BadUserInput } from '../../../errors.ts';
import { isObject, jsonIn } from '../../../storage/json.ts';
import type { BodyLimits } from './operation-body.ts';

/** Files of a request, and places in its variables that take them. */
const MAX_FILES = 10;
/** Characters of a place. */
const MAX_PATH = 200;
/** Characters of `map`. */
const MAX_MAP = 2 * MAX_FILES * MAX_PATH;

/** A form, as the request's own parser and Node's have it. */
interface Form extends Iterable<[string, string | object]> {
  get(name: string): string | object | null;
}

/** The parser of a request, with limits that Node's own takes no notice of. */
type FormReader = (options: {
  readonly formDataLimits: Readonly<Record<string, number>>;
}) => Promise<Form>;

type Json = Record<string, unknown>;

/**
 * Parses an operation with files, by the GraphQL multipart request specification: in place of Yoga's parser, which
 * creates whatever a path of `map` names. Here a path must lead through existing members to a null. Parts may
 * arrive in any order, because the body is held and limited as a whole.
 * @throws BadUserInput `BAD_USER_INPUT` for inconsistent parts.
 */
export async function readForm(
  request: Request,
  { maxBodyBytes }: BodyLimits,
): Promise<GraphQLParams> {
  const formDataLimits = {
    parts: MAX_FILES + 2,
    fields: 2,
    files: MAX_FILES,
    fieldSize: maxBodyBytes,
  };
  const read = request.formData.bind(request) as unknown as FormReader;
  return parseForm(await read({ formDataLimits }));
}

/** @throws BadUserInput `BAD_USER_INPUT` for parts that do not fit together. */
function parseForm(form: Form): GraphQLParams {
  const operations = objectOf('operations', textOf(form, 'operations'));
  const places = placesOf(form);
  for (const [name] of form) {
    if (name === 'operations' || name === 'map' || places.has(name)) continue;
    refuse(`the part ${quote(name)} is not in \`map\``);
  }
  for (const [name, paths] of places) {
    const file = form.get(name);
    if (typeof file !== 'object' || file === null) refuse(`the file ${quote(name)} is missing`);
    for (const path of paths) put(operations, path, file);
  }
  return operations;
}

/** The files by the names of their parts, with the places they go to. */
function placesOf(form: Form): ReadonlyMap<string, readonly string[]> {
  const text = textOf(form, 'map');
  if (text.length > MAX_MAP) refuse('`map` is too long');
  const places = new Map<string, readonly string[]>();
  let paths = 0;
  for (const [name, value] of Object.entries(objectOf('map', text))) {
    if (!Array.isArray(value) || value.length === 0 || !value.every(isPath)) {
      refuse(`${quote(name)} of \`map\` must be a list of paths, e.g. ["variables.input.file"]`);
    }
    places.set(name, value);
    paths += value.length;
  }
  if (paths > MAX_FILES) refuse(`\`map\` has ${paths} files and paths; the limit is ${MAX_FILES}`);
  // All that `map` is made of are names and paths, so a name that is given twice leaves one text over.
  const texts = text.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  if (texts.length !== places.size + paths) refuse('`map` contains a name twice');
  return places;
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_PATH;
}

function textOf(form: Form, name: string): string {
  const text = form.get(name);
  if (typeof text !== 'string') refuse(`\`${name}\` is missing or is a file`);
  return text;
}

function objectOf(name: string, text: string): Json {
  const value = jsonIn(text);
  if (value === undefined) refuse(`\`${name}\` is not valid JSON`);
  if (!isObject(value)) refuse(`\`${name}\` must be a JSON object`);
  return value;
}

/** Inserts a file at a path, which must lead to a null of the operation itself. */
function put(operations: Json, path: string, file: object): void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let place: unknown = operations;
  for (const step of steps) place = memberOf(place, step);
  if (steps[0] !== 'variables' || memberOf(place, last) !== null) {
    refuse(`${quote(path)} must point to a null value in the variables`);
  }
  (place as Json)[last] = file;
}

/** An own member of an object, and an element of a list; no inherited members. */
function memberOf(place: unknown, step: string): unknown {
  if (typeof place !== 'object' || place === null || !Object.hasOwn(place, step)) return undefined;
  return (place as Json)[step];
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}

function refuse(reason: string): never {
  throw new BadUserInput(`The multipart request cannot be parsed: ${reason}.`);
}
