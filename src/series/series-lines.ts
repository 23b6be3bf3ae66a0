import { crc32 } from 'node:zlib';
import type { CountName } from '../upstream/request.ts';
import type { SeriesTexts } from './series.ts';
import type { Change } from './series-store.ts';

/** The first line of a file, with the version of its format. */
export const HEAD = 'counts 1';
const OTHER_HEAD = /^counts (\d+)$/;

/** What one line of a file says; `owner` names a credential, and cannot be traced back to it. */
export type SeriesLine =
  /** A whole series. */
  | readonly [kind: 's', owner: string, count: CountName, id: number, texts: SeriesTexts]
  /** Values observed in an hour: ids and values in turn, then ids and origins of the series that begin. */
  | readonly [
      kind: 'o',
      owner: string,
      count: CountName,
      hour: number,
      values: readonly number[],
      origins: readonly (number | string | null)[],
    ]
  /** A row was deleted. */
  | readonly [kind: 'd', owner: string, count: CountName, id: number]
  /** The clock was set back to an hour. */
  | readonly [kind: 'c', hour: number]
  /** The list of an owner was read completely on a day. */
  | readonly [kind: 'l', list: string, day: number];

/** The line for changes that one response brought. */
export function observedLine(
  owner: string,
  count: CountName,
  hour: number,
  changes: readonly Change[],
): string {
  const values: number[] = [];
  const origins: (number | string | null)[] = [];
  for (const { id, origin, value } of changes) {
    values.push(id, value);
    if (origin !== undefined) origins.push(id, origin);
  }
  return textOfLine(['o', owner, count, hour, values, origins]);
}

/** A line with its checksum, in ASCII: each character is a byte of the file. */
export function textOfLine(line: SeriesLine): string {
  const json = JSON.stringify(line).replace(/[^ -~]/g, escaped);
  return `${crc32(json).toString(36)} ${json}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The content of a line; `null` for one that is damaged. */
export function parseLine(text: string): SeriesLine | null {
  const at = text.indexOf(' ');
  const json = text.slice(at + 1);
  if (at < 1 || crc32(json).toString(36) !== text.slice(0, at)) return null;
  return JSON.parse(json) as SeriesLine;
}

/** The version of a file of another format by its first line; `null` if it is no file of this program. */
export function otherVersion(head: string): number | null {
  const version = OTHER_HEAD.exec(head)?.[1];
  return version === undefined ? null : Number(version);
}
