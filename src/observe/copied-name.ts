/** Characters of a name that are kept: callers choose operations' names, identity providers those of callers. */
const LONGEST_NAME = 64;

/** A name of bounded length, to be kept. A copy: a part of a text would keep all of the text in memory. */
export function copiedName(name: string): string {
  const short = name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
  return Buffer.from(short, 'utf8').toString('utf8');
}
