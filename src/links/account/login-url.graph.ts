import { builder } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { resultOf } from '../../graph/result.ts';
import { formatTimestamp } from '../../upstream/decode/timestamp.ts';
import { createLoginUrl, LOGIN_URL_LIFETIME_MS } from './login-url.ts';

interface LoginUrl {
  readonly url: string;
  readonly expiresAt: string;
}

const LoginUrlRef = builder.objectRef<LoginUrl>('LoginUrl').implement({
  description: 'A URL that logs in as a user once, without a password.',
  fields: (t) => ({
    url: t.exposeString('url', {
      nullable: false,
      description:
        'URL that logs in as the user, once. It is a secret: the gateway neither caches nor logs it.',
      extensions: { secret: true },
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: false,
      description:
        'Time until which the URL is valid unless it is used: one hour after the request was sent.',
    }),
  }),
});

builder.mutationField('createLoginUrl', (t) =>
  t.field({
    ...resultOf(LoginUrlRef, 'CreateLoginUrlResult'),
    description:
      'Creates a URL that logs in as a user. The API key must belong to an administrator. Costs 1 upstream request; never cached.',
    args: {
      userId: t.arg.id({
        required: true,
        description: 'The user’s `id` or `databaseId`.',
      }),
    },
    // The gateway stores no secret, so that a retry could not return it.
    extensions: { returnsSecret: true },
    resolve: async (_root, { userId }, { links, clock }) => {
      const checks = new InputChecks();
      const id = checks.id('userId', 'User', userId);
      checks.done();
      // Computed before the request, which may be queued, so that it is never later than the true expiry.
      const expiresAt = formatTimestamp(clock.wall() + LOGIN_URL_LIFETIME_MS);
      return { url: await links.write(createLoginUrl(id)), expiresAt };
    },
  }),
);
