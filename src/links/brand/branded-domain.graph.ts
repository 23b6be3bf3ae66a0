import { builder, databaseId, lazily, listField } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { deletion, resultOf } from '../../graph/result.ts';
import type { Known } from '../../upstream/request.ts';
import {
  type BrandedDomain,
  createDomain,
  deleteDomain,
  domains,
  updateDomain,
} from './branded-domain.ts';

const BrandedDomainRef = builder.objectRef<Known<BrandedDomain>>('BrandedDomain');

builder.node(BrandedDomainRef, {
  description: 'A domain that the account owns and that its short links can use.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(domains, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    domain: t.string({
      description: 'The domain as a URL, with http or https; null when the upstream does not say.',
      resolve: lazily(domains, 'domain'),
    }),
    redirectRoot: t.string({
      description: 'URL that the bare domain redirects to; null or empty when it does not.',
      resolve: lazily(domains, 'redirectRoot'),
    }),
    redirect404: t.string({
      description: 'URL that unknown paths redirect to; null or empty for the service’s own page.',
      resolve: lazily(domains, 'redirect404'),
    }),
  }),
});

listField('domains', BrandedDomainRef, domains, {
  rows: 'branded domains',
  description: 'The account’s branded domains. Costs 1 upstream call for each page not cached.',
});

const whichDomain = 'Which domain: global id, or the upstream’s integer.';

const CreateDomainInput = builder.inputType('CreateDomainInput', {
  description: 'A domain to add. It must already point at the service, or the upstream refuses it.',
  fields: (t) => ({
    domain: t.string({
      required: true,
      description:
        'The domain with http or https and without a path, e.g. `https://go.example.com`.',
    }),
    redirectRoot: t.string({ description: 'URL that the bare domain is to redirect to.' }),
    redirect404: t.string({ description: 'URL that unknown paths are to redirect to.' }),
  }),
});

const UpdateDomainInput = builder.inputType('UpdateDomainInput', {
  description:
    'What to change of a domain: at least one redirect. What is left out, or null, stays as it is; an empty text asks the upstream to remove the redirect.',
  fields: (t) => ({
    id: t.id({ required: true, description: whichDomain }),
    redirectRoot: t.string({ description: 'URL that the bare domain is to redirect to.' }),
    redirect404: t.string({ description: 'URL that unknown paths are to redirect to.' }),
  }),
});

builder.mutationFields((t) => ({
  createDomain: t.field({
    ...resultOf(BrandedDomainRef, 'CreateDomainResult'),
    description:
      'Adds a branded domain. Costs 1 upstream call; redirects that were not given are read when selected.',
    args: {
      input: t.arg({ type: CreateDomainInput, required: true, description: 'What to add.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      checks.domain('domain', input.domain);
      checks.webAddress('redirectRoot', input.redirectRoot);
      checks.webAddress('redirect404', input.redirect404);
      checks.done();
      return links.write(createDomain(input));
    },
  }),
  updateDomain: t.field({
    ...resultOf(BrandedDomainRef, 'UpdateDomainResult'),
    description:
      'Changes where a branded domain redirects to. Costs 1 upstream call; what was not given is read when selected.',
    args: {
      input: t.arg({ type: UpdateDomainInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      const { redirectRoot, redirect404 } = input;
      checks.anyGiven({ redirectRoot, redirect404 });
      const id = checks.id('id', 'BrandedDomain', input.id);
      if (redirectRoot !== '') checks.webAddress('redirectRoot', redirectRoot);
      if (redirect404 !== '') checks.webAddress('redirect404', redirect404);
      checks.done();
      return links.write(updateDomain(id, input));
    },
  }),
  deleteDomain: deletion(t, 'BrandedDomain', deleteDomain, {
    result: 'DeleteDomainResult',
    description: 'Removes a branded domain from the account. Costs 1 upstream call.',
    which: whichDomain,
  }),
}));
