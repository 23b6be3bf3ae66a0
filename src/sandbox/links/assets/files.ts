import { readStamp, stamp } from '../../clock.ts';
import { Refusal } from '../../http/answer.ts';
import { cutPage } from '../../http/paging.ts';
import { type LinksContext, type LinksRoutes, now, ok } from '../context.ts';
import { aliasOf, type LinksStore, type StoredFile } from '../store.ts';

function shortUrl(store: LinksStore, file: StoredFile): string {
  return `${file.domain ?? store.url}/f/${file.alias}`;
}

function ownDomain(context: LinksContext, given: string | undefined): string | null {
  if (!given) return null;
  const host = given
    .replace(/^https?:\/\//i, '')
    .replace(/\/+$/, '')
    .toLowerCase();
  const domain = context.store.domains
    .of(context.account.id)
    .find((row) => new URL(row.domain).host === host);
  if (!domain) throw new Refusal(400, 'The domain is not one of your domains');
  return domain.domain;
}

function freeAlias(context: LinksContext, given: string | undefined): string | undefined {
  if (!given) return undefined;
  if (!/^[\w-]{1,64}$/.test(given)) throw new Refusal(400, 'The custom alias is not valid');
  if (context.store.files.all().some((file) => file.alias === given))
    throw new Refusal(400, 'The custom alias is already taken');
  return given;
}

function lastDay(given: string | undefined): string | null {
  if (!given) return null;
  if (given.length !== 10 || readStamp(given) === undefined)
    throw new Refusal(400, 'The expiry must be a date like 2026-01-31');
  return given;
}

function downloadLimit(given: string | undefined): number | null {
  if (!given) return null;
  if (!/^[1-9]\d{0,8}$/.test(given))
    throw new Refusal(400, 'The maxdownloads must be a positive integer');
  return Number(given);
}

/** Implements: Link API > Files. */
export const fileRoutes: LinksRoutes = {
  'GET /api/files': (context) => {
    const { store, account, request } = context;
    const search = (request.query['name'] ?? '').toLowerCase();
    const files = store.files
      .of(account.id)
      .filter(({ name }) => name.toLowerCase().includes(search));
    const page = cutPage(files, request, store.maxLimit);
    // The only list with its pagination members at the top level.
    return ok({
      ...page.members,
      list: page.rows.map((file) => {
        const { id, name, downloads, date } = file;
        return { id, name, downloads, shorturl: shortUrl(store, file), date };
      }),
    });
  },
  'POST /api/files/upload/:filename': (context, { filename = '' }) => {
    const { store, account, request } = context;
    const { query, bytes, spool } = request;
    if (!/^[^\\/]+\.[a-z0-9]{1,10}$/i.test(filename))
      throw new Refusal(400, 'The file name must include an extension');
    if (!spool && bytes.length === 0) throw new Refusal(400, 'The file is empty');
    const alias = freeAlias(context, query['custom']);
    const file = store.files.add({
      owner: account.id,
      name: query['name'] || filename,
      filename,
      alias: alias ?? '',
      domain: ownDomain(context, query['domain']),
      content: spool ?? bytes,
      downloads: 0,
      password: query['password'] || null,
      expiry: lastDay(query['expiry']),
      maxdownloads: downloadLimit(query['maxdownloads']),
      date: stamp(now(context)),
    });
    file.alias ||= aliasOf(`file ${file.id}`);
    return ok({ id: file.id, shorturl: shortUrl(store, file) });
  },
};
