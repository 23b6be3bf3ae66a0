import type { GraphQLResolveInfo } from 'graphql';
import { builder, connectionOf, databaseId } from '../graph/builder.ts';
import type { GraphContext } from '../graph/context.ts';
import { parseId } from '../graph/identifier.ts';
import { selectedFields } from '../graph/selection.ts';
import {
  type LabelCount as LabelCountRow,
  type QrCodeDetail,
  type QrCode as QrCodeRow,
  type QrStatistics as QrStatisticsRow,
  qrCode,
  qrCodes,
} from './qr-code.ts';

/**
 * Reads a QR code for a field that selects on it. With statistics asked for, only the read of one
 * will do, and it says all the rest as well; else the list may be cheaper.
 */
export function findQrCode(
  id: number,
  { links }: GraphContext,
  info: GraphQLResolveInfo,
): Promise<QrCodeRow | null> {
  const wantsStatistics = selectedFields(info, 'QrCode').has('statistics');
  return wantsStatistics ? links.read(qrCode(id)) : links.find(qrCodes, id);
}

const LabelCount = builder.objectRef<LabelCountRow>('LabelCount').implement({
  description: 'How often something was counted.',
  fields: (t) => ({
    label: t.exposeString('label', { nullable: false, description: 'What was counted.' }),
    count: t.exposeInt('count', { nullable: false, description: 'How often.' }),
  }),
});

const QrStatistics = builder.objectRef<QrStatisticsRow>('QrStatistics').implement({
  description: 'Who scanned a QR code. Every list comes largest count first.',
  fields: (t) => {
    const counts = (
      name: {
        [K in keyof QrStatisticsRow]: QrStatisticsRow[K] extends readonly LabelCountRow[]
          ? K
          : never;
      }[keyof QrStatisticsRow],
      description: string,
    ) =>
      t.field({
        type: [LabelCount],
        nullable: false,
        description,
        resolve: (statistics) => statistics[name],
      });
    return {
      clicks: t.exposeInt('clicks', { description: 'Scans in all.' }),
      uniqueClicks: t.exposeInt('uniqueClicks', { description: 'Scans by different people.' }),
      topCountries: counts('topCountries', 'Scans by country.'),
      topReferrers: counts('topReferrers', 'Scans by the page they came from.'),
      topBrowsers: counts('topBrowsers', 'Scans by browser.'),
      topOperatingSystems: counts('topOperatingSystems', 'Scans by operating system.'),
      socialCounts: counts('socialCounts', 'Visits by social network.'),
    };
  },
});

export const QrCode = builder.objectRef<QrCodeRow | QrCodeDetail>('QrCode');

builder.node(QrCode, {
  description: 'A QR code, which leads to a link and counts who scans it.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: findQrCode,
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    link: t.exposeString('link', { description: 'URL of the code itself.' }),
    scans: t.exposeInt('scans', { description: 'How often it was scanned.' }),
    name: t.exposeString('name', { description: 'What the account calls it.' }),
    date: t.expose('date', { type: 'DateTime', description: 'When it was made.' }),
    statistics: t.field({
      type: QrStatistics,
      description:
        'Who scanned it; null when the upstream keeps no statistics of it. Costs 1 upstream call for each QR code, then none while kept.',
      resolve: async (row, _args, { links }) => {
        const detail = 'statistics' in row ? row : await links.read(qrCode(row.id));
        return detail?.statistics;
      },
    }),
  }),
});

builder.queryFields((t) => ({
  qrCodes: t.connection(
    {
      type: QrCode,
      nullable: true,
      description: 'The account’s QR codes. Costs 1 upstream call for each page not kept.',
      resolve: (_root, window, { links }) => links.connection(qrCodes, window),
    },
    ...connectionOf('QrCode', 'QR codes'),
  ),
  qrCode: t.field({
    type: QrCode,
    description:
      'One QR code; null when there is none of this id. Costs nothing while a page that holds it is kept, else 1 upstream call, its statistics included.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, context, info) => findQrCode(parseId('QrCode', id), context, info),
  }),
}));
