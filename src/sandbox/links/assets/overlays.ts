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

/** Implements: Link API > Custom splash. */
export const splashRoutes: readonly LinksRoute[] = [
  {
    method: 'GET',
    path: '/api/splash',
    run: (context) =>
      listPage(
        context,
        'splash',
        context.store.splash.of(context.account.id),
        ({ id, name, date }) => ({ id, name, date }),
      ),
  },
];
