import { builder, connectionOf } from '../../graph/builder.ts';
import { lazily } from '../../graph/fields.ts';
import { andThen } from '../../scheduling/at-once.ts';
import { parseUrl } from '../../upstream/decode/url.ts';
import type { ListView } from '../../upstream/lists/views/view.ts';
import { FileRef } from '../content/file.graph.ts';
import { type File, files } from '../content/file.ts';
import { BrandedDomainRef } from './branded-domain.graph.ts';
import { domains } from './branded-domain.ts';

const allFiles = files();
const domainOf = lazily(domains, 'domain');

builder.objectField(BrandedDomainRef, 'files', (t) =>
  t.connection(
    {
      type: FileRef,
      nullable: true,
      description:
        'The files whose short URL is on this domain; null if the API does not provide the domain. The API cannot be asked for them, so the list of all files is read. Costs 1 upstream request for each uncached page of it, once for all domains.',
      resolve: (row, window, context) =>
        andThen(domainOf(row, window, context), (domain) => {
          const host = hostOf(domain);
          return host === null ? null : context.links.connection(allFiles, window, filesOn(host));
        }),
    },
    ...connectionOf('BrandedDomainFiles', 'files of a domain'),
  ),
);

/** The files on a host, as a view of the list of all files. */
function filesOn(host: string): ListView<File> {
  return { key: `host ${host}`, filter: ({ shortUrl }) => hostOf(shortUrl) === host };
}

/** The host of a URL, in lower case and with its port; `null` if it is none. */
function hostOf(url: string | null): string | null {
  return url === null ? null : (parseUrl(url)?.host ?? null);
}
