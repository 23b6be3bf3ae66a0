import { readFileSync } from 'node:fs';

/** Whole comments that begin a line, as they do outside texts and patterns. */
const COMMENT = /^[ \t]*(?:\/\*[^]*?\*\/|(?:\/\/.*\n[ \t]*)*\/\/.*)/gm;
const LEGAL =
  /^\s*\/\*!|@licen[cs]e\b|\bcopyright\b|\(c\) (19|20)\d\d|\blicensed (under|to)\b|\bpermission is hereby granted\b/i;

/**
 * What a source says in comments about its authors and licence: bundles have no comments.
 *
 * @param {string} path
 * @returns {string[]} Without the signs of comments.
 */
export function legalComments(path) {
  if (!/\.([cm]?[jt]sx?|css)$/.test(path)) return [];
  const code = readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
  return [...code.matchAll(COMMENT)]
    .filter(([comment]) => LEGAL.test(comment))
    .map(([comment]) => plain(comment));
}

/** @param {string} comment */
function plain(comment) {
  return comment
    .split('\n')
    .map((line) => line.replace(/^\s*(\/\*+!?|\/\/+|\*(?!\/))? ?|[\s*]*\*\/\s*$/g, '').trimEnd())
    .filter((line) => !/^[-=*/]*$/.test(line) || line === '')
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
