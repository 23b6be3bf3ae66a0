import type { ResultOf } from 'gql.tada';
import { retryAfterMs } from 'links-market-client';
import { type Answer, ask } from './ask.ts';
import { QrExport } from './documents.ts';
import { type CodedError, isExhausted } from './errors.ts';
import type { Settings } from './settings.ts';
import type { Retry } from './use-patient-query.ts';

/** How long a page may wait for its turns before the export says that it pauses. */
const WAIT_SECONDS = 1;

/** How far a file is. */
export interface ExportProgress {
  readonly rows: number;
  readonly total: number | null;
  /** Set while the budget is waited for. */
  readonly pause: Retry | null;
}

/** Why an export stopped before its end. */
export class ExportError extends Error {
  readonly errors: readonly CodedError[];

  constructor(errors: readonly CodedError[]) {
    super(errors[0]?.message ?? 'The export failed.');
    this.errors = errors;
  }
}

/** A value as RFC 4180 has it; what a spreadsheet would take for a formula is kept a text. */
function cell(value: string | number | null | undefined): string {
  const text = value == null ? '' : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/**
 * All QR codes as CSV, complete or not at all. Where the budget ends it waits, and asks for the same page
 * again: what has come of it is in the gateway's cache. Costs 1 upstream call for 100 codes, and with
 * `statistics` 1 for each.
 * @throws ExportError, TypeError when the gateway cannot be reached, or the reason of `signal`.
 */
export async function exportQrCodes(
  settings: Settings,
  statistics: boolean,
  onProgress: (progress: ExportProgress) => void,
  signal: AbortSignal,
): Promise<string> {
  const head = ['id', 'name', 'made', 'scans', 'link'];
  const lines = [[...head, ...(statistics ? ['clicks', 'people'] : [])]];
  const page = (after: string | null): Promise<Answer<ResultOf<typeof QrExport>>> => {
    // With statistics in small pages, of which an operation can pay one.
    const variables = { first: statistics ? 5 : 100, after, statistics };
    return ask(settings, QrExport, variables, { waitSeconds: WAIT_SECONDS, signal });
  };
  let after: string | null = null;
  for (;;) {
    const { data, errors = [] } = await page(after);
    const rows = lines.length - 1;
    const ms = retryAfterMs(errors);
    if (ms !== null) {
      const retry = { at: Date.now() + ms, exhausted: isExhausted(errors) };
      onProgress({ rows, total: data?.qrCodes?.totalCount ?? null, pause: retry });
      await pause(ms, signal);
      continue;
    }
    if (errors.length > 0 || !data?.qrCodes) throw new ExportError(errors);
    const { nodes, pageInfo, totalCount } = data.qrCodes;
    for (const { id, name, createdAt, scans, link, statistics: who } of nodes) {
      const values = [id, name, createdAt, scans, link, who?.clicks, who?.uniqueClicks];
      lines.push(values.slice(0, lines[0]?.length).map(cell));
    }
    onProgress({ rows: lines.length - 1, total: totalCount, pause: null });
    if (!pageInfo.hasNextPage) return lines.map((line) => `${line.join(',')}\r\n`).join('');
    after = pageInfo.endCursor;
  }
}
