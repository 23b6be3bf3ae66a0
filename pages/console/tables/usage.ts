import type { ConsoleState } from '../../../src/console/console-state.ts';
import type { UsageState } from '../../../src/console/usage-pages.ts';
import type { UsageDimension, UsageGroup } from '../../../src/usage/usage-report.ts';
import { askGateway } from '../ask-gateway.ts';
import { html, setText } from '../dom.ts';
import { headingOf } from '../failures.ts';
import { type Column, createTable, textColumn } from '../table.ts';
import { count, counted, share, timeOfDay } from '../words.ts';

/** Maximum number of rows of the table; the file has all. */
const MOST_ROWS = 200;

/** A group of requests, and the requests of all groups. */
interface Shown extends UsageGroup {
  readonly all: number;
}

/** The titles of the upstreams, by their names. */
type Titles = ReadonlyMap<string | null, string>;

const dimensions: readonly [by: UsageDimension, head: string][] = [
  ['day', 'Day'],
  ['upstream', 'API'],
  ['resource', 'Resource'],
  ['callerClass', 'Class'],
  ['caller', 'Caller'],
  ['operation', 'Operation'],
];

/**
 * Which caller has used how many upstream requests in a period. It is requested when it is first shown, and after each
 * change of the form. Hidden if the gateway does not record usage.
 */
export function createUsage(section: HTMLElement): {
  update(state: ConsoleState): void;
  useToken(token: string): void;
} {
  const form = createForm();
  const span = html('span', { class: 'span' });
  const sum = html('p', { class: 'usage-sum', role: 'status' });
  const table = html('div');
  const more = html('p', { class: 'more muted' });
  const unnamed = html(
    'p',
    { class: 'muted' },
    'Usage is shown on the gateway’s machine, and after you enter an admin token above.',
  );
  section.querySelector('h2')?.append(' ', span);
  section.append(unnamed, form.node, sum, table, more);
  let token = '';
  let latest = new AbortController();
  let titles: Titles = new Map();

  async function request(type: string, file: 'json' | 'csv'): Promise<Response | null> {
    latest.abort();
    latest = new AbortController();
    const { signal } = latest;
    try {
      return await askGateway(`./console/usage.${file}?${form.query()}`, type, token, signal);
    } catch (error) {
      if (!signal.aborted) setText(sum, `Usage is not available. ${(error as Error).message}`);
      return null;
    }
  }

  async function load(): Promise<void> {
    const response = await request('application/json', 'json');
    if (!response) return;
    const usage = (await response.json()) as UsageState;
    form.show(usage);
    setText(span, `as of ${timeOfDay(Date.now())}`);
    setText(sum, sumInWords(usage));
    table.replaceChildren(tableOf(usage, titles));
    const hidden = usage.groups.length - MOST_ROWS;
    more.hidden = hidden <= 0;
    setText(more, `${counted(hidden, 'more row is', 'more rows are')} in the CSV file.`);
  }

  async function save(): Promise<void> {
    const response = await request('text/csv', 'csv');
    if (!response) return;
    const href = URL.createObjectURL(await response.blob());
    html('a', { href, download: 'usage.csv' }).click();
    URL.revokeObjectURL(href);
  }

  form.node.addEventListener('change', () => void load());
  form.node.addEventListener('submit', (event) => {
    event.preventDefault();
    void load();
  });
  form.saveButton.addEventListener('click', () => void save());
  let isShown = false;
  return {
    update({ named, upstreams }) {
      titles = new Map(upstreams.map(({ title, upstream }) => [upstream, headingOf(title)]));
      unnamed.hidden = named;
      for (const part of [form.node, span, sum, table]) part.hidden = !named;
      more.hidden ||= !named;
      const isFirst = named && !isShown;
      isShown = named;
      if (isFirst) void load();
    },
    useToken(text) {
      token = text;
    },
  };
}

/** The period, and what rows are grouped by. */
function createForm() {
  const from = html('input', { type: 'date', id: 'usage-from' });
  const to = html('input', { type: 'date', id: 'usage-to' });
  const boxes = dimensions.map(([by, head]) => {
    const box = html('input', { type: 'checkbox', id: `usage-by-${by}` });
    box.checked = by === 'caller';
    return { by, box, label: html('label', { for: box.id }, box, head) };
  });
  const saveButton = html('button', { type: 'button' }, 'Save as CSV');
  const node = html(
    'form',
    { class: 'usage-form' },
    html('label', { for: from.id }, 'From ', from),
    html('label', { for: to.id }, 'to ', to),
    html('fieldset', {}, html('legend', {}, 'Grouped by'), ...boxes.map(({ label }) => label)),
    html('button', { type: 'submit' }, 'Update'),
    saveButton,
  );
  return {
    node,
    saveButton,
    query: (): string => {
      const by = boxes.filter(({ box }) => box.checked).map((each) => each.by);
      const { value: first } = from;
      const { value: last } = to;
      return String(new URLSearchParams({ from: first, to: last, by: by.join(',') }));
    },
    show(usage: UsageState): void {
      from.value = usage.from;
      to.value = usage.to;
    },
  };
}

function sumInWords({ calls, saved }: UsageState): string {
  if (calls + saved === 0) return 'No requests in this period.';
  const others = `${count(saved)} saved by the cache and shared requests`;
  return `${counted(calls, 'request')} sent, ${others} (${share(saved, calls + saved)}).`;
}

function tableOf({ by, calls, groups }: UsageState, titles: Titles): HTMLElement {
  const columns: Column<Shown>[] = [
    ...dimensions
      .filter(([each]) => by.includes(each))
      .map(([each, head]) =>
        textColumn<Shown>(head, 'text', (group) => titles.get(group[each]) ?? group[each] ?? ''),
      ),
    textColumn('Requests', 'number', (group) => count(group.calls)),
    textColumn('Share', 'number', (group) => share(group.calls, group.all)),
    textColumn('Saved', 'number', ({ saved }) => count(saved)),
  ];
  const table = createTable('Usage', '', columns, (group) => {
    return by.map((each) => group[each]).join('\n');
  });
  table.update(groups.slice(0, MOST_ROWS).map((group) => ({ ...group, all: calls })));
  return table.node;
}
