import { fault, InputChecks } from '../graph/checks.ts';
import { checkUpload } from '../links/content/file.graph.ts';
import type { UploadFile } from '../links/content/file.ts';

/** The options of an upload by their names in the query; one also by the upstream's. */
const members: Readonly<Record<string, keyof UploadFile>> = {
  name: 'name',
  custom: 'custom',
  domain: 'domain',
  password: 'password',
  expiry: 'expiry',
  maxDownloads: 'maxDownloads',
  maxdownloads: 'maxDownloads',
};

/**
 * Parses `/files/:filename?option=value` and validates it as `uploadFile` does. An unknown option is an error: a
 * file with a misspelled `pasword` would be public.
 * @throws InvalidInput `BAD_USER_INPUT` with all validation errors.
 */
export function readUpload(address: string): UploadFile {
  const [path, query] = cut(address, '?');
  const checks = new InputChecks();
  const given = new Map<keyof UploadFile, string>();
  for (const [option, value] of new URLSearchParams(query)) {
    const member = Object.hasOwn(members, option) ? members[option] : undefined;
    if (!member) {
      const message = `is not an option. The options are ${optionNames.join(', ')}.`;
      checks.issue(option, fault('UNKNOWN_OPTION', message, { options: optionNames }));
    } else if (given.has(member)) {
      checks.issue(option, fault('REPEATED_OPTION', 'is set more than once.'));
    } else given.set(member, value);
  }
  const count = given.get('maxDownloads');
  const upload: UploadFile = {
    filename: decode(path.slice('/files/'.length)),
    name: given.get('name'),
    custom: given.get('custom'),
    domain: given.get('domain'),
    password: given.get('password'),
    expiry: given.get('expiry'),
    maxDownloads: count === undefined ? undefined : wholeNumber(count),
  };
  checkUpload(checks, upload);
  checks.done();
  return upload;
}

const optionNames = [...new Set(Object.values(members))];

function cut(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}

/** A part that cannot be decoded is not a name: an empty one fails the validation. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

/** 0 for anything else, which fails the check. */
function wholeNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
