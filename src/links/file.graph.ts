import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import { type File as FileRow, files } from './file.ts';

export const File = builder.objectRef<FileRow>('File');

builder.node(File, {
  description: 'An uploaded file, which can be downloaded at a short URL.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(files(), id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.exposeString('name', { description: 'What the account calls it.' }),
    downloads: t.exposeInt('downloads', { description: 'How often it has been downloaded.' }),
    shortUrl: t.exposeString('shortUrl', { description: 'URL where it can be downloaded.' }),
    date: t.expose('date', { type: 'DateTime', description: 'When it was uploaded.' }),
  }),
});

builder.queryField('files', (t) =>
  t.connection(
    {
      type: File,
      nullable: true,
      description:
        'The account’s uploaded files. Costs 1 upstream call for each page not kept; every search is a list of its own.',
      args: {
        search: t.arg.string({
          description:
            'Only files whose name the upstream finds for this; blank is the same as none.',
        }),
      },
      resolve: (_root, { search, ...window }, { links }) => links.connection(files(search), window),
    },
    ...connectionOf('File', 'files'),
  ),
);
