import { DAY, readStamp } from '../clock.ts';
import { type Answer, escapeHtml, htmlPage, raw } from '../http/answer.ts';
import type { SandboxRequest } from '../http/router.ts';
import type { LinksStore, StoredFile } from '../links/store.ts';

/** Sends an uploaded file, if its password, last day and maximum number of downloads permit. */
export function download(store: LinksStore, file: StoredFile, request: SandboxRequest): Answer {
  const name = escapeHtml(file.name);
  const end = file.expiry === null ? undefined : readStamp(file.expiry);
  // Includes the whole last day: the documentation has a date without a time.
  if (end !== undefined && store.clock.wall() >= end + DAY)
    return htmlPage('No longer available', `<p>The download of ${name} has expired.</p>`, 410);
  if (file.maxdownloads !== null && file.downloads >= file.maxdownloads)
    return htmlPage(
      'No longer available',
      `<p>${name} was downloaded as often as allowed.</p>`,
      410,
    );
  if (file.password !== null && request.query['password'] !== file.password) return ask(request);
  if (request.method !== 'HEAD') file.downloads += 1;
  const extension = file.filename.split('.').pop()?.toLowerCase() ?? '';
  const answer = raw(TYPES[extension] ?? 'application/octet-stream', file.content);
  // As an attachment: an uploaded page must not run scripts on this origin.
  answer.headers['content-disposition'] =
    `attachment; filename*=UTF-8''${encodeURIComponent(file.filename)}`;
  answer.headers['x-content-type-options'] = 'nosniff';
  return answer;
}

function ask(request: SandboxRequest): Answer {
  const wrong = request.query['password'] === undefined ? '' : '<p>This password is wrong.</p>';
  const form =
    '<form><label>Password <input type="password" name="password" autofocus></label> <button>Download</button></form>';
  return htmlPage('This file is protected', wrong + form, 401);
}

const TYPES: Record<string, string> = {
  csv: 'text/csv; charset=utf-8',
  gif: 'image/gif',
  html: 'text/html; charset=utf-8',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webp: 'image/webp',
  zip: 'application/zip',
};
