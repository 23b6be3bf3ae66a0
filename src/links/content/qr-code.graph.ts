import type { GraphQLResolveInfo } from 'graphql';
import { builder, databaseId, lazily, listField } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import type { GraphContext } from '../../graph/context.ts';
import { parseId } from '../../graph/ids/global-id.ts';
import { deletion, resultOf } from '../../graph/result.ts';
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
 * Reads a QR code for a field that returns one: by itself when the operation selects its statistics,
 * which lists lack; else from the list where that takes fewer upstream calls. `namedBy`: see `Source.find`.
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
  description: 'How often something was counted.',
  fields: (t) => ({
    label: t.exposeString('label', { nullable: false, description: 'What was counted.' }),
    count: t.exposeInt('count', { nullable: false, description: 'How often.' }),
  }),
});

const QrStatisticsRef = builder.objectRef<QrStatistics>('QrStatistics').implement({
  description: 'Who scanned a QR code. Every list comes largest count first.',
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
      clicks: t.exposeInt('clicks', {
        description: 'Scans in all; null when the upstream does not say.',
      }),
      uniqueClicks: t.exposeInt('uniqueClicks', {
        description: 'Scans by different people; null when the upstream does not say.',
      }),
      topCountries: counts('topCountries', 'Scans by country.'),
      topReferrers: counts('topReferrers', 'Scans by the page they came from.'),
      topBrowsers: counts('topBrowsers', 'Scans by browser.'),
      topOperatingSystems: counts('topOperatingSystems', 'Scans by operating system.'),
      socialCounts: counts('socialCounts', 'Visits by social network.'),
    };
  },
});

/** The type of `Query.qrCode` and `QrItem.qrCode`. */
export const QrCodeRef = builder.objectRef<Known<QrCode> | QrCodeDetail>('QrCode');

builder.node(QrCodeRef, {
  description: 'A QR code, which leads to a link and counts who scans it.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: findQrCode,
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    link: t.string({
      description: 'URL of the code itself; null when the upstream does not say.',
      resolve: lazily(qrCodes, 'link'),
    }),
    scans: t.int({
      description: 'How often it was scanned; null when the upstream does not say.',
      resolve: lazily(qrCodes, 'scans'),
    }),
    name: t.string({
      description: 'What the account calls it; null when it has no name.',
      resolve: lazily(qrCodes, 'name'),
    }),
    date: t.field({
      type: 'DateTime',
      description: 'When it was made; null when the upstream does not say.',
      resolve: lazily(qrCodes, 'date'),
    }),
    statistics: t.field({
      type: QrStatisticsRef,
      description:
        'Who scanned it; null when the upstream has no statistics of it. Costs 1 upstream call for each QR code, then none while cached.',
      resolve: (row, _args, { links }) =>
        andThen('statistics' in row ? row : links.read(qrCode(row.id)), (read) => read?.statistics),
    }),
  }),
});

listField('qrCodes', QrCodeRef, qrCodes, {
  rows: 'QR codes',
  description: 'The account’s QR codes. Costs 1 upstream call for each page not cached.',
});

builder.queryField('qrCode', (t) =>
  t.field({
    type: QrCodeRef,
    description:
      'One QR code; null when there is none of this id. Costs nothing while a page that holds it is cached, else 1 upstream call, its statistics included.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, context, info) => findQrCode(parseId('QrCode', id), context, info),
  }),
);

const colorDescription = '`rgb(r,g,b)`, each from 0 to 255.';
const logoDescription = 'Picture to put into its middle: path or URL of a png or jpg.';

const CreateQrCodeInput = builder.inputType('CreateQrCodeInput', {
  description: 'A QR code to make. The upstream chooses what is left out.',
  fields: (t) => ({
    type: t.field({ type: QrTypeRef, required: true, description: 'What it holds.' }),
    data: t.field({ type: QrDataInput, required: true, description: 'What it says.' }),
    background: t.string({ description: `Color behind the code: ${colorDescription}` }),
    foreground: t.string({ description: `Color of the code: ${colorDescription}` }),
    logo: t.string({ description: logoDescription }),
    name: t.string({ description: 'What to call it.' }),
  }),
});

const UpdateQrCodeInput = builder.inputType('UpdateQrCodeInput', {
  description:
    'What to change of a QR code. What is left out, or null, stays as it is. Its name cannot be changed.',
  fields: (t) => ({
    id: t.id({
      required: true,
      description: 'Which QR code: global id, or the upstream’s integer.',
    }),
    type: t.field({
      type: QrTypeRef,
      description: 'What it holds. With it, the data is checked before a call is spent.',
    }),
    data: t.field({
      type: QrDataInput,
      required: true,
      description: 'What it says; the upstream always wants it.',
    }),
    background: t.string({ description: `Color behind the code: ${colorDescription}` }),
    foreground: t.string({ description: `Color of the code: ${colorDescription}` }),
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
  createQrCode: t.field({
    ...resultOf(QrCodeRef, 'CreateQrCodeResult'),
    description:
      'Makes a QR code. Costs 1 upstream call; what neither its answer nor the input holds is read when selected.',
    args: {
      input: t.arg({ type: CreateQrCodeInput, required: true, description: 'What to make.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      const data = checkLook(checks, input);
      checks.notBlank('name', input.name);
      checks.done();
      return links.write(createQrCode({ ...input, data }));
    },
  }),
  updateQrCode: t.field({
    ...resultOf(QrCodeRef, 'UpdateQrCodeResult'),
    description:
      'Changes what a QR code says and how it looks. Costs 1 upstream call; fields selected on it are read afterwards.',
    args: {
      input: t.arg({ type: UpdateQrCodeInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      const id = checks.id('id', 'QrCode', input.id);
      const data = checkLook(checks, input);
      checks.done();
      return links.write(updateQrCode(id, { ...input, data }));
    },
  }),
  deleteQrCode: deletion(t, 'QrCode', deleteQrCode, {
    result: 'DeleteQrCodeResult',
    description: 'Removes a QR code, from its channels too. Costs 1 upstream call.',
    which: 'Which QR code: global id, or the upstream’s integer.',
  }),
}));
