import { hash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { isClassName } from '../auth/caller-class.ts';
import {
  formatTokenFile,
  isMoment,
  isTokenName,
  type KnownToken,
  MAX_TOKEN_FILE_BYTES,
  parseTokenFile,
} from '../auth/token-file.ts';
import { type Role, roles } from '../auth/viewer.ts';
import { reasonOf } from '../errors.ts';
import { systemClock } from '../scheduling/clock.ts';
import { readTextFileIfThere } from '../storage/text-file.ts';
import { readOptions } from './arguments.ts';
import { CommandError, UsageError } from './faults.ts';

/**
 * Creates a token for `AUTH_MODE=token`, prints it once, and adds its hash to a file.
 * @throws UsageError for invalid arguments, CommandError if the file cannot be read or written.
 */
export function makeToken(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  const values = readOptions(args, {
    name: { type: 'string' },
    role: { type: 'string' },
    class: { type: 'string' },
    expires: { type: 'string' },
    file: { type: 'string' },
  });
  const file = values.file ?? (env['AUTH_TOKENS_FILE']?.trim() || 'tokens.json');
  const name = nameOf(values.name);
  const role = roleOf(values.role);
  const callerClass = classOf(values.class);
  const expires = expiryOf(values.expires);
  const tokens = read(file);
  if (tokens.some((each) => each.name === name)) {
    throw new UsageError(
      `${file} already has a token named ${name}. Choose another name, or delete that token.`,
    );
  }
  // The prefix lets secret scanners recognise a leaked token.
  const token = `lmg_${randomBytes(32).toString('base64url')}`;
  const entry = {
    name,
    role,
    sha256: hash('sha256', token),
    ...(callerClass ? { class: callerClass } : {}),
    ...(expires ? { expires } : {}),
  };
  replace(file, formatTokenFile([...tokens, entry]));
  process.stderr.write(`Added ${name} (${role}) to ${file}. The token is shown only once:\n`);
  process.stdout.write(`${token}\n`);
}

function nameOf(name: string | undefined): string {
  if (isTokenName(name)) return name;
  throw new UsageError('--name must be 1 to 64 letters, digits or any of . _ @ -.');
}

function roleOf(word: string | undefined): Role {
  const role = roles.find((each) => each === word);
  if (role) return role;
  throw new UsageError(`--role must be one of ${roles.join(', ')}.`);
}

function classOf(name: string | undefined): string | undefined {
  if (name === undefined || isClassName(name)) return name;
  throw new UsageError(
    '--class must be 1 to 32 lower-case letters, digits or -, beginning with a letter.',
  );
}

function expiryOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (isMoment(text) && Date.parse(text) > systemClock.wall()) return text;
  throw new UsageError('--expires must be a future date, such as 2030-01-31.');
}

/** A missing file counts as empty. A broken one throws, so that it is not overwritten. */
function read(file: string): readonly KnownToken[] {
  try {
    const text = readTextFileIfThere(file, MAX_TOKEN_FILE_BYTES);
    return text === null ? [] : parseTokenFile(text);
  } catch (error) {
    throw new CommandError(`${file} cannot be used (${reasonOf(error)}).`, { cause: error });
  }
}

/**
 * Writes a file in place, because a container with a mount of that single file would never see a new file of the
 * same name. A gateway that reads it in the meantime keeps the previous tokens and reads again. The content is
 * first written to a draft next to it, if possible: it stays there if the machine stops.
 */
function replace(file: string, text: string): void {
  const target = openToWrite(file);
  const draft = `${file}.${process.pid}.tmp`;
  const drafted = writeDraft(draft, text);
  try {
    fill(target, text);
  } catch (error) {
    const where = drafted ? ` Its intended content is in ${draft}.` : '';
    throw new CommandError(`${file} was written incompletely (${reasonOf(error)}).${where}`, {
      cause: error,
    });
  }
  if (drafted) rmSync(draft, { force: true });
}

function openToWrite(file: string): number {
  try {
    return openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  } catch (error) {
    throw new CommandError(`${file} cannot be written (${reasonOf(error)}).`, { cause: error });
  }
}

/** Returns whether it could be written: another user may own the folder, as with a mounted file. */
function writeDraft(draft: string, text: string): boolean {
  try {
    fill(openSync(draft, 'wx', 0o600), text);
    return true;
  } catch {
    rmSync(draft, { force: true });
    return false;
  }
}

function fill(descriptor: number, text: string): void {
  try {
    const bytes = Buffer.from(text);
    let written = 0;
    while (written < bytes.length) {
      written += writeSync(descriptor, bytes, written, bytes.length - written, written);
    }
    // Only now, so that no reader finds an empty file.
    ftruncateSync(descriptor, bytes.length);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
