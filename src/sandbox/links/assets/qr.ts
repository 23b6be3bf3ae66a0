import { stamp } from '../../clock.ts';
import { Refusal } from '../../http/answer.ts';
import {
  existing,
  type LinksContext,
  type LinksRoutes,
  listPage,
  members,
  now,
  ok,
  optionalText,
  requiredText,
} from '../context.ts';
import { aliasOf, type LinksStore, type QrCode } from '../store.ts';
import { qrContent } from './qr-content.ts';

/** Statistics of a code without scans. Implements: Link API > Statistics object. */
export function noScans(): Record<string, unknown> {
  return {
    clicks: 0,
    uniqueClicks: 0,
    topCountries: {},
    topReferrers: {},
    topBrowsers: {},
    topOs: {},
    socialCount: { facebook: 0, twitter: 0, instagram: 0 },
  };
}

function viewQr(store: LinksStore, { id, alias, scans, name, date }: QrCode) {
  return { id, link: `${store.url}/qr/${alias}`, scans, name, date };
}

function find(context: LinksContext, id: string | undefined): QrCode {
  return existing(context.store.qrs.find(context.account.id, Number(id)), 'QR code');
}

/** A colour member of the form `rgb(r,g,b)`. */
function color(body: Record<string, unknown>, name: string): string | undefined {
  const text = optionalText(body, name)?.replace(/\s/g, '');
  if (text === undefined) return undefined;
  const parts = /^rgb\((\d{1,3}),(\d{1,3}),(\d{1,3})\)$/.exec(text)?.slice(1);
  if (!parts?.every((part) => Number(part) <= 255))
    throw new Refusal(400, `The ${name} must be a color of the form rgb(r,g,b)`);
  return text;
}

function picture(body: Record<string, unknown>): string | undefined {
  const logo = optionalText(body, 'logo');
  if (logo && !/\.(png|jpe?g)(\?\S*)?$/i.test(logo))
    throw new Refusal(400, 'The logo must be the path or URL of a png or jpg');
  return logo;
}

/** Implements: Link API > QR codes. */
export const qrRoutes: LinksRoutes = {
  'GET /api/qr': (context) =>
    listPage(context, 'qrs', context.store.qrs.of(context.account.id), (row) =>
      viewQr(context.store, row),
    ),
  'GET /api/qr/:id': (context, { id }) => {
    const qr = find(context, id);
    return ok({ details: viewQr(context.store, qr), data: qr.stats });
  },
  'POST /api/qr/add': (context) => {
    const { store, account } = context;
    const body = members(context);
    const type = requiredText(body, 'type');
    qrContent(type, body['data']);
    const date = stamp(now(context));
    const qr = store.qrs.add({
      owner: account.id,
      alias: '',
      name: optionalText(body, 'name') || `QR code ${date}`,
      type,
      data: body['data'],
      background: color(body, 'background') ?? 'rgb(255,255,255)',
      foreground: color(body, 'foreground') ?? 'rgb(0,0,0)',
      logo: picture(body) || null,
      scans: 0,
      date,
      stats: noScans(),
    });
    qr.alias = aliasOf(`qr ${qr.id}`);
    return ok({ id: qr.id, link: viewQr(store, qr).link });
  },
  'PUT /api/qr/:id/update': (context, { id }) => {
    const qr = find(context, id);
    const body = members(context);
    // With a type, the data are of that type; without one, the type is unchanged.
    const type = optionalText(body, 'type') ?? qr.type;
    qrContent(type, body['data']);
    const background = color(body, 'background') ?? qr.background;
    const foreground = color(body, 'foreground') ?? qr.foreground;
    const logo = picture(body);
    Object.assign(qr, { type, data: body['data'], background, foreground });
    if (logo !== undefined) qr.logo = logo || null;
    return ok({ message: 'QR code has been updated successfully.' });
  },
  'DELETE /api/qr/:id/delete': (context, { id }) => {
    context.store.qrs.remove(context.account.id, find(context, id).id);
    return ok({ message: 'QR code has been deleted successfully.' });
  },
};
