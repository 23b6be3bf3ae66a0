import type { GraphQLResolveInfo } from 'graphql';
import { builder, databaseId } from '../../graph/builder.ts';
import { changeField, deletion } from '../../graph/change.ts';
import type { InputChecks } from '../../graph/checks.ts';
import type { GraphContext } from '../../graph/context.ts';
import { createdTime, lazily, shown, shownLazily } from '../../graph/fields.ts';
import { historyArguments, historyCost, historyType, spanOf } from '../../graph/history.graph.ts';
import { parseId } from '../../graph/ids/global-id.ts';
import { timeFilter } from '../../graph/lists/filters.ts';
import { listField } from '../../graph/lists/list-field.ts';
import { byId, byNumber, byText, byTime } from '../../graph/lists/orders.ts';
import { selectedFields } from '../../graph/rows/selection.ts';
import type { Resource } from '../../resources.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import {
  createQrCode,
  deleteQrCode,
  type LabelCount,
  type QrCode,
  type QrCodeDetail,
  type QrStatistics,
  qrCode,
  qrCodes,
  updateQrCode,
} from './qr-code.ts';
import { checkQrData, QrDataInput, QrTypeRef } from './qr-data.graph.ts';

/**
 * Reads a QR code for a field that returns one: by itself if the operation selects its statistics, which lists
 * lack; otherwise from the list if that costs fewer upstream requests. `namedBy`: see `Source.find`.
 */
export function findQrCode(
  id: number,
  { links }: GraphContext,
  info: GraphQLResolveInfo,
  namedBy: readonly Resource[] = [],
): AtOnce<QrCode | null> {
  const wantsStatistics = selectedFields(info, 'QrCode').has('statistics');
  return wantsStatistics ? links.read(qrCode(id)) : links.find(qrCodes, id, namedBy);
}

const LabelCountRef = builder.objectRef<LabelCount>('LabelCount').implement({
  description: 'A value in the statistics, and its number of scans.',
  fields: (t) => ({
    ...shown(t, 'String!', { label: 'The value, e.g. a country or a browser.' }),
    count: t.exposeInt('count', {
      description: 'Number of scans; null if the API does not provide one that can be read.',
    }),
  }),
});

const QrStatisticsRef = builder.objectRef<QrStatistics>('QrStatistics').implement({
  description:
    'Scan statistics of a QR code. Each list is sorted by count, largest first and null last.',
  fields: (t) => {
    const counts = (
      name: {
        [K in keyof QrStatistics]: QrStatistics[K] extends readonly LabelCount[] ? K : never;
      }[keyof QrStatistics],
      description: string,
    ) =>
      t.field({
        type: [LabelCountRef],
        nullable: false,
        description,
        resolve: (statistics) => statistics[name],
      });
    return {
      ...shown(t, 'Int', {
        clicks: 'Total number of scans; null if the API does not provide it.',
        uniqueClicks:
          'Number of unique visitors who scanned the code; null if the API does not provide it.',
      }),
      topCountries: counts('topCountries', 'Scans by country.'),
      topReferrers: counts('topReferrers', 'Scans by referring page.'),
      topBrowsers: counts('topBrowsers', 'Scans by browser.'),
      topOperatingSystems: counts('topOperatingSystems', 'Scans by operating system.'),
      socialCounts: counts('socialCounts', 'Scans by social network.'),
    };
  },
});

/** The type of `Query.qrCode` and `QrItem.qrCode`. */
export const QrCodeRef = builder.objectRef<Known<QrCode> | QrCodeDetail>('QrCode');

builder.node(QrCodeRef, {
  description:
    'A QR code with scan statistics. The API does not return its content, colors and logo.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: findQrCode,
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shownLazily(t, qrCodes, 'String', {
      link: 'URL of the QR code; null if the API does not provide it.',
    }),
    ...shownLazily(t, qrCodes, 'Int', {
      scans: 'Number of scans; null if the API does not provide it.',
    }),
    ...shownLazily(t, qrCodes, 'String', { name: 'Name of the QR code; null if it has none.' }),
    ...createdTime(t, lazily(qrCodes, 'date')),
    statistics: t.field({
      type: QrStatisticsRef,
      description:
        'Scan statistics; null if the API has none for this QR code. Costs 1 upstream request per QR code if not cached.',
      resolve: (row, _args, { links }) =>
        andThen('statistics' in row ? row : links.read(qrCode(row.id)), (read) => read?.statistics),
    }),
  }),
});

listField('qrCodes', QrCodeRef, qrCodes, {
  rows: 'QR codes',
  description: 'The account’s QR codes. Costs 1 upstream request per page if not cached.',
  search: { in: 'name or link', texts: ({ name, link }) => [name, link] },
  order: {
    NAME: byText('name', 'Name of the QR code.'),
    SCANS: byNumber('scans', 'How often it was scanned.'),
    CREATED_AT: byTime('date', 'Creation time.'),
    ID: byId,
  },
  filters: [
    timeFilter('createdAt', ({ date }) => date, 'Only QR codes created in this range of time.'),
  ],
});

builder.queryField('qrCode', (t) =>
  t.field({
    type: QrCodeRef,
    description:
      'A QR code; null if it does not exist. Costs no upstream request while a page that contains it is cached, otherwise 1, which also returns its statistics.',
    args: {
      id: t.arg.id({ required: true, description: 'The QR code’s `id` or `databaseId`.' }),
    },
    resolve: (_root, { id }, context, info) => findQrCode(parseId('QrCode', id), context, info),
  }),
);

const colorDescription = '`rgb(r,g,b)`, each value from 0 to 255.';
const logoDescription = 'Logo in the center: path or URL of a PNG or JPEG image.';

const CreateQrCodeInput = builder.inputType('CreateQrCodeInput', {
  description: 'The QR code to create. The API sets default values for omitted members.',
  fields: (t) => ({
    type: t.field({ type: QrTypeRef, required: true, description: 'Type of the content.' }),
    data: t.field({ type: QrDataInput, required: true, description: 'Content of the code.' }),
    background: t.string({ description: `Background color: ${colorDescription}` }),
    foreground: t.string({ description: `Foreground color: ${colorDescription}` }),
    logo: t.string({ description: logoDescription }),
    name: t.string({ description: 'Display name of the QR code.' }),
  }),
});

const UpdateQrCodeInput = builder.inputType('UpdateQrCodeInput', {
  description:
    'Changes to a QR code. Omitted or null members stay unchanged. The name cannot be changed.',
  fields: (t) => ({
    id: t.id({
      required: true,
      description: 'The QR code’s `id` or `databaseId`.',
    }),
    type: t.field({
      type: QrTypeRef,
      description:
        'Type of the content. If it is set, the gateway checks `data` before it sends the request.',
    }),
    data: t.field({
      type: QrDataInput,
      required: true,
      description: 'Content of the code. The API always requires it.',
    }),
    background: t.string({ description: `Background color: ${colorDescription}` }),
    foreground: t.string({ description: `Foreground color: ${colorDescription}` }),
    logo: t.string({ description: logoDescription }),
  }),
});

/** Checks what both mutations take, and returns the data for the upstream. */
function checkLook(
  checks: InputChecks,
  input: typeof UpdateQrCodeInput.$inferInput | typeof CreateQrCodeInput.$inferInput,
) {
  const data = checkQrData(checks, 'data', input.data, input.type);
  checks.rgbColor('background', input.background);
  checks.rgbColor('foreground', input.foreground);
  checks.logo('logo', input.logo);
  return data;
}

builder.mutationFields((t) => ({
  createQrCode: changeField(t, QrCodeRef, {
    result: 'CreateQrCodeResult',
    description:
      'Creates a QR code. Costs 1 upstream request, plus a read of the QR code for selected fields that neither the response nor the input contains.',
    input: [CreateQrCodeInput, 'Values of the new QR code.'],
    check(checks, input) {
      const data = checkLook(checks, input);
      checks.notBlank('name', input.name);
      return data;
    },
    send: (input, { links }, data) => links.write(createQrCode({ ...input, data })),
  }),
  updateQrCode: changeField(t, QrCodeRef, {
    result: 'UpdateQrCodeResult',
    description:
      'Changes the content and the appearance of a QR code. Costs 1 upstream request, plus a read of the QR code if its fields are selected.',
    input: [UpdateQrCodeInput, 'The changes.'],
    check(checks, input) {
      const id = checks.id('id', 'QrCode', input.id);
      const data = checkLook(checks, input);
      return { id, data };
    },
    send: (input, { links }, { id, data }) =>
      links.update(qrCodes, id, updateQrCode(id, { ...input, data })),
  }),
  deleteQrCode: deletion(t, 'QrCode', deleteQrCode, {
    result: 'DeleteQrCodeResult',
    description: 'Deletes a QR code and removes it from its channels. Costs 1 upstream request.',
    which: 'The QR code’s `id` or `databaseId`.',
  }),
}));

builder.objectField(QrCodeRef, 'scanHistory', (t) =>
  t.field({
    ...historyType,
    description: `\`scans\` over time. ${historyCost}`,
    args: historyArguments(t.arg),
    resolve: ({ date, id }, args, { links }) =>
      links.history({ count: 'scans', id, origin: date }, spanOf(args)),
  }),
);
