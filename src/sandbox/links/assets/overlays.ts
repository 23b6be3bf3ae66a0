import { type LinksRoutes, listPage } from '../context.ts';

/** Implements: Link API > CTA overlays. */
export const overlayRoutes: LinksRoutes = {
  'GET /api/overlay': (context) =>
    listPage(
      context,
      'cta',
      context.store.overlays.of(context.account.id),
      ({ id, type, name, date }) => ({ id, type, name, date }),
    ),
};

/** Implements: Link API > Custom splash. */
export const splashRoutes: LinksRoutes = {
  'GET /api/splash': (context) =>
    listPage(
      context,
      'splash',
      context.store.splash.of(context.account.id),
      ({ id, name, date }) => ({ id, name, date }),
    ),
};
