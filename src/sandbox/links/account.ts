import { Refusal } from '../http/answer.ts';
import { emailAddress, type LinksRoutes, members, ok, optionalText } from './context.ts';
import type { LinksStore, User } from './store.ts';

/** The account in responses to its owner. Implements: Link API > Resources > Account. */
export function viewAccount(store: LinksStore, user: User) {
  const { id, email, username, status, expires, registered } = user;
  const avatar = `${store.url}/media/avatar/${encodeURIComponent(username)}.svg`;
  return { id, email, username, avatar, status, expires, registered };
}

/** Rejects the email of another account. */
export function freeEmail(store: LinksStore, email: string, except?: number): string {
  const taken = store.users.some(
    (user) => user.id !== except && user.email.toLowerCase() === email.toLowerCase(),
  );
  if (taken) throw new Refusal(400, 'An account with this email already exists');
  return email;
}

/** Rejects a password that is too short. Implements: Link API > Limits. */
export function longEnough(password: string): string {
  if (password.length < 5) throw new Refusal(400, 'The password must be at least 5 characters');
  return password;
}

/** Implements: Link API > Account. */
export const accountRoutes: LinksRoutes = {
  'GET /api/account': ({ store, account }) => ok({ data: viewAccount(store, account) }),
  'PUT /api/account/update': (context) => {
    const body = members(context);
    const email = optionalText(body, 'email');
    const password = optionalText(body, 'password');
    // The documentation does not define which member is required; without both there is no update.
    if (email === undefined && password === undefined)
      throw new Refusal(400, 'The email or the password is required');
    const { account, store } = context;
    if (email !== undefined) freeEmail(store, emailAddress(email), account.id);
    if (password !== undefined) longEnough(password);
    account.email = email ?? account.email;
    account.password = password ?? account.password;
    return ok({ message: 'Account has been successfully updated.' });
  },
};
