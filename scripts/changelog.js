import { readFileSync } from 'node:fs';

/** What a change is noted under until it has a version. */
export const UNRELEASED = 'Unreleased';

/**
 * The section of CHANGELOG.md for a version, without its heading.
 *
 * @param {string} title its heading: a version, or `Unreleased`
 * @throws Error if there is no such heading, or no line below it
 */
export function notesOf(title) {
  const [, ...sections] = `\n${readFileSync('CHANGELOG.md', 'utf8')}`.split('\n## ');
  const section = sections.find((each) => each.startsWith(`${title}\n`));
  const notes = section?.slice(title.length).trim() ?? '';
  if (!/^- /m.test(notes)) throw new Error(`CHANGELOG.md says nothing under "## ${title}"`);
  return notes;
}
