import type { IncomingMessage } from 'node:http';
import { BadUserInput, GatewayError } from '../errors.ts';
import type { PlainAnswer } from '../http/respond.ts';
import { DAY_MS } from '../usage/day-usage.ts';
import { firstOfMonth, type Usage } from '../usage/usage.ts';
import {
  dateOf,
  type UsageDimension,
  type UsageReport,
  usageDimensions,
} from '../usage/usage-report.ts';

/** The usage of a period, as the console shows it. */
export interface UsageState extends UsageReport {
  /** The first and the last day, as `YYYY-MM-DD`. */
  readonly from: string;
  readonly to: string;
  readonly by: readonly UsageDimension[];
}

/**
 * The usage that a request asks for by its query: `from` and `to` as `YYYY-MM-DD`, by default the current month, and
 * `by` as a list of dimensions, by default `caller`.
 * @throws GatewayError `FORBIDDEN` for viewers who may not know callers; `BAD_USER_INPUT`.
 */
export async function usageFor(
  request: IncomingMessage,
  named: boolean,
  usage: Usage,
): Promise<UsageState> {
  if (!named) {
    throw new GatewayError(
      'FORBIDDEN',
      'Usage names callers. Open the console on the machine of the gateway, or with the token of an administrator.',
    );
  }
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const from = dayIn(searchParams, 'from') ?? firstOfMonth(usage.today);
  const to = dayIn(searchParams, 'to') ?? usage.today;
  const by = dimensionsIn(searchParams.get('by') ?? 'caller');
  const report = await usage.report({ from, to, by });
  return { from: dateOf(from), to: dateOf(to), by, ...report };
}

/** A CSV file that a browser saves. */
export function csvAnswer(text: string): PlainAnswer {
  return {
    status: 200,
    content: { type: 'text/csv; charset=utf-8', body: text },
    headers: { 'Content-Disposition': 'attachment; filename="usage.csv"' },
  };
}

function dayIn(search: URLSearchParams, name: string): number | null {
  const text = search.get(name);
  if (text === null || text === '') return null;
  const wall = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(wall)) return wall / DAY_MS;
  throw new BadUserInput(`"${name}" must be a date such as 2030-01-31.`);
}

function dimensionsIn(text: string): UsageDimension[] {
  const words = text.split(',').filter((word) => word !== '');
  const known = usageDimensions.filter((each) => words.includes(each));
  if (words.every((word) => known.some((each) => each === word))) return known;
  throw new BadUserInput(`"by" must be a list of ${usageDimensions.join(', ')}.`);
}
