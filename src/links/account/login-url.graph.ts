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
        'Logs in whoever opens it first: a secret. This answer is the only place it is ever in.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: false,
      description:
        'Until when it works at least, if nobody uses it: an hour after it was asked for.',
    }),
  }),
});

builder.mutationField('createLoginUrl', (t) =>
  t.field({
    type: LoginUrlRef,
    nullable: false,
    errors: resultOf('CreateLoginUrlResult'),
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
      // Taken before the call, which may wait for its turn: so it is never later than the truth.
      const expiresAt = formatTimestamp(clock.wall() + LOGIN_URL_LIFETIME_MS);
      return { url: await links.write(createLoginUrl(id)), expiresAt };
    },
  }),
);
