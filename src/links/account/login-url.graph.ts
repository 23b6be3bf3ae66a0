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
  description: 'A way to log in as a user without a password, once.',
  fields: (t) => ({
    url: t.exposeString('url', {
      nullable: false,
      description:
        'Logs in the person who opens it first: a secret, which the gateway neither caches nor logs.',
      extensions: { secret: true },
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: false,
      description:
        'The earliest moment at which it expires unused: an hour after the request began.',
    }),
  }),
});

builder.mutationField('createLoginUrl', (t) =>
  t.field({
    ...resultOf(LoginUrlRef, 'CreateLoginUrlResult'),
    description:
      'Makes a URL that logs in as a user. For API keys of administrators. Costs 1 upstream call, every time.',
    args: {
      userId: t.arg.id({
        required: true,
        description: 'Which user: global id, or the upstream’s integer.',
      }),
    },
    resolve: async (_root, { userId }, { links, clock }) => {
      const checks = new InputChecks();
      const id = checks.id('userId', 'User', userId);
      checks.done();
      // Read before the call, which may be queued, so that it is never later than the true expiry.
      const expiresAt = formatTimestamp(clock.wall() + LOGIN_URL_LIFETIME_MS);
      return { url: await links.write(createLoginUrl(id)), expiresAt };
    },
  }),
);
