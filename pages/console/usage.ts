import type { ConsoleState } from '../../src/console/console-state.ts';
import type { UsageState } from '../../src/console/usage-pages.ts';
import type { UsageDimension, UsageGroup } from '../../src/usage/usage-report.ts';
import { byId, type Child, html, show } from '../dom.ts';
import { count, counted, share, timeOfDay } from '../words.ts';
import { askGateway } from './ask-gateway.ts';
import { headingOf } from './failures.ts';
import { type Column, heading, table } from './table.ts';

/** Maximum number of rows of the table; the file has all. */
const MOST_ROWS = 200;

const heads: Readonly<Record<UsageDimension, string>> = {
  day: 'Day',
  upstream: 'API',
  resource: 'Resource',
  callerClass: 'Class',
  caller: 'Caller',
  operation: 'Operation',
};
const dimensions = Object.keys(heads) as UsageDimension[];

/**
 * Which caller has used how many upstream requests in a period. It is requested when it is first shown, and after each
 * change of the form.
 */
export class UsageTable {
  token = '';
  readonly #form = byId('usage-form') as HTMLFormElement;
  readonly #from = byId('usage-from') as HTMLInputElement;
  readonly #to = byId('usage-to') as HTMLInputElement;
  #latest = new AbortController();
  /** Of the upstreams, by their names. */
  #titles: ReadonlyMap<string | null, string> = new Map();

  constructor() {
    const boxes = dimensions.map((by) => {
      const checked = by === 'caller' ? '' : null;
      const box = html('input', { type: 'checkbox', name: 'by', value: by, checked });
      return html('label', {}, box, heads[by]);
    });
    byId('usage-by').append(...boxes);
    this.#form.addEventListener('change', () => void this.#load());
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#load();
    });
    byId('usage-save').addEventListener('click', () => void this.#save());
  }

  update({ named, upstreams }: ConsoleState): void {
    this.#titles = new Map(upstreams.map(({ title, upstream }) => [upstream, headingOf(title)]));
    const isFirst = named && this.#form.hidden;
    this.#form.hidden = !named;
    if (isFirst) void this.#load();
    else if (!named) {
      show(byId('usage-sum'));
      show(
        byId('usage-table'),
        html(
          'p',
          { class: 'muted' },
          'Usage is shown on the gateway’s machine, and after you enter an admin token above.',
        ),
      );
    }
  }

  async #request(type: string, file: 'json' | 'csv'): Promise<Response | null> {
    this.#latest.abort();
    this.#latest = new AbortController();
    const { signal } = this.#latest;
    const data = new FormData(this.#form);
    const by = data.getAll('by').map(String).join(',');
    const period = { from: this.#from.value, to: this.#to.value };
    const query = new URLSearchParams({ ...period, by });
    try {
      return await askGateway(`./console/usage.${file}?${query}`, type, this.token, signal);
    } catch (error) {
      const what = `Usage is not available. ${(error as Error).message}`;
      if (!signal.aborted) show(byId('usage-sum'), what);
      return null;
    }
  }

  async #load(): Promise<void> {
    const response = await this.#request('application/json', 'json');
    if (!response) return;
    const usage = (await response.json()) as UsageState;
    this.#from.value = usage.from;
    this.#to.value = usage.to;
    show(byId('usage-head'), heading('Usage', `as of ${timeOfDay(Date.now())}`));
    show(byId('usage-sum'), sumInWords(usage));
    show(byId('usage-table'), this.#tableOf(usage));
  }

  async #save(): Promise<void> {
    const response = await this.#request('text/csv', 'csv');
    if (!response) return;
    const href = URL.createObjectURL(await response.blob());
    html('a', { href, download: 'usage.csv' }).click();
    URL.revokeObjectURL(href);
  }

  #tableOf({ by, calls, groups }: UsageState): Child {
    const columns: Column<UsageGroup>[] = [
      ...dimensions
        .filter((each) => by.includes(each))
        .map(
          (each): Column<UsageGroup> => [
            heads[each],
            'text',
            (group) => this.#titles.get(group[each]) ?? group[each],
          ],
        ),
      ['Requests', 'number', (group) => count(group.calls)],
      ['Share', 'number', (group) => share(group.calls, calls)],
      ['Saved', 'number', ({ saved }) => count(saved)],
    ];
    const hidden = groups.length - MOST_ROWS;
    const more = `${counted(hidden, 'more row is', 'more rows are')} in the CSV file.`;
    return [
      table('Usage', '', columns, groups.slice(0, MOST_ROWS), (group) =>
        by.map((each) => group[each]).join('\n'),
      ),
      hidden > 0 ? html('p', { class: 'more muted' }, more) : null,
    ];
  }
}

function sumInWords({ calls, saved }: UsageState): string {
  if (calls + saved === 0) return 'No requests in this period.';
  const others = `${count(saved)} saved by the cache and shared requests`;
  return `${counted(calls, 'request')} sent, ${others} (${share(saved, calls + saved)}).`;
}
