import { type LinksRoute, listPage } from '../context.ts';

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
