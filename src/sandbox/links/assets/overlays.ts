import { type LinksRoute, listPage } from '../context.ts';

/** Implements: Link API > CTA overlays. */
export const overlayRoutes: readonly LinksRoute[] = [
  {
    method: 'GET',
    path: '/api/overlay',
    run: (context) =>
      listPage(
        context,
        'cta',
        context.store.overlays.of(context.account.id),
        ({ id, type, name, date }) => ({ id, type, name, date }),
      ),
  },
];
