import { builder, databaseId } from '../../graph/builder.ts';
import { changeField, deletion, expectedOf, updateField } from '../../graph/change.ts';
import { shownLazily } from '../../graph/fields.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byText } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import type { Known } from '../../upstream/request.ts';
import {
  type BrandedDomain,
  createDomain,
  deleteDomain,
  domains,
  updateDomain,
} from './branded-domain.ts';

/** The type of `Query.domains`. */
export const BrandedDomainRef = builder.objectRef<Known<BrandedDomain>>('BrandedDomain');

builder.node(BrandedDomainRef, {
  description: 'A domain that the account owns and that short links can use.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(domains, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shownLazily(t, domains, 'String', {
      domain: 'The domain as an http or https URL; null if the API does not provide it.',
      redirectRoot:
        'URL to which the domain itself redirects; null or empty if it does not redirect.',
      redirect404:
        'URL to which unknown paths redirect; null or empty if the service shows its default page.',
    }),
  }),
});

listField('domains', BrandedDomainRef, domains, {
  rows: 'branded domains',
  description: 'The account’s branded domains. Costs 1 upstream request per page if not cached.',
  search: {
    in: 'domain or redirects',
    texts: ({ domain, redirectRoot, redirect404 }) => [domain, redirectRoot, redirect404],
  },
  order: {
    DOMAIN: byText('domain', 'The domain as a URL with its scheme.'),
    ID: byId,
  },
});

lookupField('domain', BrandedDomainRef, domains, {
  what: 'A branded domain',
  whose: 'The domain’s',
});

const whichDomain = 'The domain’s `id` or `databaseId`.';

const CreateDomainInput = builder.inputType('CreateDomainInput', {
  description:
    'The domain to add. Its DNS record must already point to the service; otherwise the API rejects it.',
  fields: (t) => ({
    domain: t.string({
      required: true,
      description:
        'The domain as an http or https URL without a path, e.g. `https://go.example.com`.',
    }),
    redirectRoot: t.string({ description: 'URL to which the domain itself redirects.' }),
    redirect404: t.string({ description: 'URL to which unknown paths redirect.' }),
  }),
});

const UpdateDomainInput = builder.inputType('UpdateDomainInput', {
  description:
    'Changes to a domain. At least one redirect is required. Omitted or null members stay unchanged; an empty string removes a redirect if the API supports that.',
  fields: (t) => ({
    id: t.id({ required: true, description: whichDomain }),
    redirectRoot: t.string({ description: 'URL to which the domain itself redirects.' }),
    redirect404: t.string({ description: 'URL to which unknown paths redirect.' }),
  }),
});

const expectedDomain = expectedOf<BrandedDomain>('BrandedDomain', 'a branded domain', {
  redirectRoot: {
    type: 'String',
    description: 'URL to which the domain itself redirects.',
    of: ({ redirectRoot }) => redirectRoot,
  },
  redirect404: {
    type: 'String',
    description: 'URL to which unknown paths redirect.',
    of: ({ redirect404 }) => redirect404,
  },
});

builder.mutationFields((t) => ({
  createDomain: changeField(t, BrandedDomainRef, {
    result: 'CreateDomainResult',
    description:
      'Adds a branded domain. Costs 1 upstream request, plus a read of the domain for selected redirects that the input does not contain.',
    input: [CreateDomainInput, 'The domain to add.'],
    check(checks, input) {
      checks.domain('domain', input.domain);
      checks.webAddress('redirectRoot', input.redirectRoot);
      checks.webAddress('redirect404', input.redirect404);
    },
    send: (input, { links }) => links.write(createDomain(input)),
  }),
  updateDomain: updateField(t, BrandedDomainRef, domains, {
    result: 'UpdateDomainResult',
    description:
      'Changes the redirects of a branded domain. Costs 1 upstream request, plus a read of the domain for selected fields that the input does not contain.',
    input: [UpdateDomainInput, 'The changes.'],
    expected: expectedDomain,
    anyOf: ['redirectRoot', 'redirect404'],
    check(checks, { redirectRoot, redirect404 }) {
      if (redirectRoot !== '') checks.webAddress('redirectRoot', redirectRoot);
      if (redirect404 !== '') checks.webAddress('redirect404', redirect404);
    },
    write: updateDomain,
  }),
  deleteDomain: deletion(t, 'BrandedDomain', deleteDomain, {
    result: 'DeleteDomainResult',
    description: 'Removes a branded domain from the account. Costs 1 upstream request.',
    which: whichDomain,
  }),
}));
