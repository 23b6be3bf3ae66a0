import { crc32 } from 'node:zlib';
import type { UpstreamName } from '../../../errors.ts';
import type { Ambiguity, FinalOutcome } from '../record.ts';

/** The version of the format of a line. */
const FORMAT = 1;
const HEAD_WORD = 'writes';

/** The state of a key that was sent. */
export type RecordState =
  | { readonly kind: 'ambiguous'; readonly ambiguity: Ambiguity }
  | FinalOutcome;

/** The record of a key, as it is saved. Times are in milliseconds since 1970. */
export interface SavedRecord {
  readonly name: string;
  readonly scope: string;
  readonly upstream: UpstreamName;
  readonly mutation: string;
  /** The two members of the fingerprint. */
  readonly secret: string;
  readonly digest: string;
  readonly firstAt: number;
  /** When it is forgotten. */
  readonly until: number;
  readonly state: RecordState;
}

/** A line of the file. */
export type RecordLine =
  | { readonly kind: 'record'; readonly record: SavedRecord }
  /** The key was not sent after all, or is no longer kept. */
  | { readonly kind: 'removed'; readonly name: string }
  /** A record of another version. `text` is the whole line. */
  | { readonly kind: 'unreadable'; readonly name: string; readonly text: string };

/** The first line of the file. */
export interface RecordsHead {
  /** The secret of names, in base64url. */
  readonly secret: string;
  /** When the file was written. */
  readonly writtenAt: number;
  /** Since when the file has all keys. */
  readonly knownSince: number;
  /** When records were lost; `null` if that is too long ago to matter. */
  readonly lostAt: number | null;
}

/** The head as a line. */
export function headText({ knownSince, lostAt, secret, writtenAt }: RecordsHead): string {
  const times = [writtenAt, knownSince, lostAt].map((at) => (at === null ? '-' : Math.round(at)));
  return withSum(`${HEAD_WORD} ${FORMAT} ${secret} ${times.join(' ')}`);
}

const HEAD = new RegExp(`^${HEAD_WORD} ${FORMAT} (\\S+) (\\d+) (\\d+) (\\d+|-)$`);

/** Parses the first line; `null` if it is damaged or has another version. */
export function parseHead(line: string): RecordsHead | null {
  const match = HEAD.exec(withoutSum(line) ?? '');
  if (!match) return null;
  const [, secret = '', writtenAt, knownSince, lostAt] = match;
  return {
    secret,
    writtenAt: Number(writtenAt),
    knownSince: Number(knownSince),
    lostAt: lostAt === '-' ? null : Number(lostAt),
  };
}

/** A record as a line. */
export function recordText({ name, ...record }: SavedRecord): string {
  return withSum(`${FORMAT} ${name} ${JSON.stringify(record)}`);
}

/** The line of a key whose record is removed. */
export function removedText(name: string): string {
  return withSum(`${FORMAT} ${name} -`);
}

/** Parses a line after the first; `null` if it is damaged. */
export function parseRecordLine(line: string): RecordLine | null {
  const match = /^(\d+) (\S+) (.+)$/.exec(withoutSum(line) ?? '');
  if (!match) return null;
  const [, format, name = '', rest = ''] = match;
  if (Number(format) !== FORMAT) return { kind: 'unreadable', name, text: `${line}\n` };
  if (rest === '-') return { kind: 'removed', name };
  // The sum says that this program has written it.
  return { kind: 'record', record: { name, ...(JSON.parse(rest) as Omit<SavedRecord, 'name'>) } };
}

/** A text with its checksum, as a line. A text in JSON has no line break. */
function withSum(text: string): string {
  return `${crc32(text).toString(36)} ${text}\n`;
}

/** The text of a line; `null` if its checksum is of another text. */
function withoutSum(line: string): string | null {
  const at = line.indexOf(' ');
  const text = line.slice(at + 1);
  return at > 0 && crc32(text).toString(36) === line.slice(0, at) ? text : null;
}
