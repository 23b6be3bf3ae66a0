import { Refusal } from '../http/answer.ts';
import {
  existing,
  type LinksRoutes,
  listPage,
  members,
  ok,
  optionalText,
  requiredText,
  webAddress,
} from './context.ts';
import type { Domain } from './store.ts';

function viewDomain({ id, domain, redirectroot, redirect404 }: Domain) {
  return { id, domain, redirectroot, redirect404 };
}

function redirects(body: Record<string, unknown>): { redirectroot?: string; redirect404?: string } {
  const given: { redirectroot?: string; redirect404?: string } = {};
  for (const name of ['redirectroot', 'redirect404'] as const) {
    const text = optionalText(body, name);
    // An empty text removes the redirect.
    if (text !== undefined) given[name] = text && webAddress(text, name);
  }
  return given;
}

/** Implements: Link API > Branded domains. */
export const domainRoutes: LinksRoutes = {
  'GET /api/domains': (context) =>
    listPage(context, 'domains', context.store.domains.of(context.account.id), viewDomain),
  'POST /api/domain/add': (context) => {
    const body = members(context);
    const domain = webAddress(requiredText(body, 'domain'), 'domain').replace(/\/+$/, '');
    const { host } = new URL(domain);
    const { domains } = context.store;
    if (domains.all().some((other) => new URL(other.domain).host === host))
      throw new Refusal(400, 'The domain has already been added');
    // The documentation requires a domain that points to the service. The sandbox does not resolve names: it
    // rejects only names that by definition never resolve.
    if (/\.(invalid|test)$/.test(new URL(domain).hostname))
      throw new Refusal(400, 'The domain does not point to our server yet');
    const row = { owner: context.account.id, domain, redirectroot: '', redirect404: '' };
    const { id } = domains.add({ ...row, ...redirects(body) });
    return ok({ id });
  },
  'PUT /api/domain/:id/update': (context, { id }) => {
    const domain = existing(context.store.domains.find(context.account.id, Number(id)), 'Domain');
    Object.assign(domain, redirects(members(context)));
    return ok({ message: 'Domain has been updated successfully.' });
  },
  'DELETE /api/domain/:id/delete': (context, { id }) => {
    if (!context.store.domains.remove(context.account.id, Number(id)))
      throw new Refusal(404, 'Domain does not exist');
    return ok({ message: 'Domain has been deleted successfully.' });
  },
};
