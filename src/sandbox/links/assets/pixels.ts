import { stamp } from '../../clock.ts';
import { Refusal } from '../../http/answer.ts';
import {
  existing,
  type LinksRoutes,
  listPage,
  members,
  now,
  ok,
  optionalText,
  requiredText,
} from '../context.ts';

/** The thirteen pixel types. Implements: Link API > Resources > Pixel. */
export const PIXEL_TYPES = [
  'gtmpixel',
  'gapixel',
  'fbpixel',
  'adwordspixel',
  'linkedinpixel',
  'twitterpixel',
  'adrollpixel',
  'quorapixel',
  'pinterest',
  'bing',
  'snapchat',
  'reddit',
  'tiktok',
] as const;

/** Implements: Link API > Pixels. */
export const pixelRoutes: LinksRoutes = {
  'GET /api/pixels': (context) =>
    listPage(
      context,
      'pixels',
      context.store.pixels.of(context.account.id),
      ({ id, type, name, tag, date }) => ({ id, type, name, tag, date }),
    ),
  'POST /api/pixel/add': (context) => {
    const body = members(context);
    const type = requiredText(body, 'type');
    if (!PIXEL_TYPES.some((known) => known === type))
      throw new Refusal(400, `The type must be one of ${PIXEL_TYPES.join(', ')}`);
    const { id } = context.store.pixels.add({
      owner: context.account.id,
      type,
      name: requiredText(body, 'name'),
      tag: requiredText(body, 'tag'),
      date: stamp(now(context)),
    });
    return ok({ id });
  },
  'PUT /api/pixel/:id/update': (context, { id }) => {
    const pixel = existing(context.store.pixels.find(context.account.id, Number(id)), 'Pixel');
    const body = members(context);
    const tag = requiredText(body, 'tag');
    pixel.name = optionalText(body, 'name') || pixel.name;
    pixel.tag = tag;
    return ok({ message: 'Pixel has been updated successfully.' });
  },
  'DELETE /api/pixel/:id/delete': (context, { id }) => {
    if (!context.store.pixels.remove(context.account.id, Number(id)))
      throw new Refusal(404, 'Pixel does not exist');
    return ok({ message: 'Pixel has been deleted successfully.' });
  },
};
