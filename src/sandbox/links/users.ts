import { stamp } from '../clock.ts';
import { Refusal } from '../http/answer.ts';
import { freeEmail, longEnough, viewAccount } from './account.ts';
import {
  adminOnly,
  emailAddress,
  existing,
  type LinksContext,
  type LinksRoutes,
  members,
  now,
  ok,
  optionalStamp,
  requiredText,
} from './context.ts';
import { keyOf, type LinksStore, type Plan, secret, type User } from './store.ts';

/** Validity of a single sign-on URL, in milliseconds. Implements: Link API > States. */
const LOGIN_LIFETIME = 3_600_000;

/** A user in responses to an admin, with the secret key. Implements: Link API > Resources > User. */
function viewUser(store: LinksStore, user: User) {
  return { ...viewAccount(store, user), planid: user.planid, apikey: user.apikey };
}

function find(context: LinksContext, id: string | undefined): User {
  return existing(
    context.store.users.find((user) => user.id === Number(id)),
    'User',
  );
}

function planOf(context: LinksContext, body: Record<string, unknown>): Plan {
  const { plans } = context.store;
  const given = body['planid'];
  const plan =
    given === undefined || given === null
      ? plans.find((row) => row.free)
      : plans.find((row) => row.id === Number(given));
  if (!plan) throw new Refusal(400, 'The planid is not the id of a plan');
  return plan;
}

function newUsername(context: LinksContext, body: Record<string, unknown>): string {
  const username = requiredText(body, 'username');
  if (!/^[a-z0-9][a-z0-9_.-]{2,31}$/i.test(username))
    throw new Refusal(400, 'The username is not valid');
  const lower = username.toLowerCase();
  if (context.store.users.some((user) => user.username.toLowerCase() === lower))
    throw new Refusal(400, 'The username is already taken');
  return username;
}

/** Implements: Link API > Users (admin only). */
export const userRoutes: LinksRoutes = {
  'GET /api/users': (context) => {
    adminOnly(context);
    const { filter, email } = context.request.query;
    if (filter && !['admin', 'free', 'pro'].includes(filter))
      throw new Refusal(400, 'The filter must be admin, free or pro');
    const wanted = (user: User) =>
      (!filter || (filter === 'admin' ? user.admin : user.status === filter)) &&
      (!email || user.email.toLowerCase().includes(email.toLowerCase()));
    const { store } = context;
    const users = store.users.filter(wanted).toReversed();
    return ok({ data: users.map((user) => viewUser(store, user)) });
  },
  'GET /api/user/:id': (context, { id }) => {
    adminOnly(context);
    return ok({ data: viewUser(context.store, find(context, id)) });
  },
  'POST /api/user/add': (context) => {
    adminOnly(context);
    const body = members(context);
    const { store } = context;
    const username = newUsername(context, body);
    const email = freeEmail(store, emailAddress(requiredText(body, 'email')));
    const password = longEnough(requiredText(body, 'password'));
    const plan = planOf(context, body);
    const id = Math.max(...store.users.map((user) => user.id)) + 1;
    store.users.push({
      id,
      email,
      username,
      password,
      status: plan.free ? 'free' : 'pro',
      admin: false,
      expires: optionalStamp(body, 'expiration') ?? null,
      registered: stamp(now(context)),
      planid: plan.id,
      apikey: keyOf(`${id} ${username}`),
      keyExpired: false,
    });
    return ok({ message: 'User has been created successfully.', data: { id, email, username } });
  },
  'DELETE /api/user/:id/delete': (context, { id }) => {
    adminOnly(context);
    const user = find(context, id);
    // Not in the documentation; without it, the gateway's account could delete itself.
    if (user === context.account) throw new Refusal(400, 'You cannot delete your own account');
    context.store.removeUser(user.id);
    return ok({ message: 'User has been deleted successfully.' });
  },
  'GET /api/user/login/:id': (context, { id }) => {
    adminOnly(context);
    const token = secret();
    const until = now(context) + LOGIN_LIFETIME;
    context.store.logins.set(token, { user: find(context, id).id, until });
    return ok({ url: `${context.store.url}/login/sso/${token}` });
  },
};
