import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromium, dashboardPackages, describeWith } from '../../support/needs.ts';
import { expectAccessible, findingsOf } from '../axe.ts';
import { type DashboardWorld, hold, startDashboard, wholeView } from './dashboard-world.ts';

/** Types a text into a field, one character after the other. */
function typeAtOnce(field: Element, text: string): void {
  // React listens to changes of the value that it has not made itself.
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  for (let length = 1; length <= text.length; length += 1) {
    value?.set?.call(field, text.slice(0, length));
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

interface Code {
  readonly name: string;
  readonly scans: number;
}

describeWith([chromium, dashboardPackages], 'the table of QR codes', () => {
  let world: DashboardWorld;
  let page: Page;
  /** All of them, in the order of the API. */
  let codes: readonly Code[];

  beforeAll(async () => {
    world = await startDashboard({ env: { 'ttl.qrCodes': '3600000' } });
    page = await world.open();
    await wholeView(page);
    const { data } = await world.ask('{ qrCodes(first: 500) { nodes { name scans } } }');
    codes = (data as { qrCodes: { nodes: Code[] } }).qrCodes.nodes;
    world.sandbox.links.clearLog();
  });
  afterAll(() => world?.close());

  const panel = (on = page) => on.getByRole('region', { name: 'QR codes' });
  const head = (name: string) => panel().getByRole('columnheader', { name });
  const sortBy = (name: string) => head(name).getByRole('button').click();
  const posters = () => codes.filter(({ name }) => name.includes('poster'));
  const mostScans = (some: readonly Code[]) => [...some].sort((a, b) => b.scans - a.scans);
  /** The rows once the page has settled: the range below them is empty while it reads. */
  async function rowsAt(range: string, on = page): Promise<string[]> {
    await panel(on).getByRole('status').getByText(range, { exact: true }).waitFor();
    return panel(on).getByRole('rowheader').allTextContents();
  }
  const namesOf = (some: readonly Code[], from = 0) =>
    some.slice(from, from + 6).map(({ name }) => name);

  it('finds what is typed, by one operation that costs nothing', async () => {
    const sent: string[] = [];
    page.on('request', (request) => {
      const text = request.postData() ?? '';
      if (text.includes('query QrCodes')) sent.push(JSON.parse(text).variables.search);
    });
    // All keys in one task: between those of a driver, a busy machine can pause for longer than the field waits.
    await panel().getByLabel('Search').evaluate(typeAtOnce, '  Poster');
    expect(await rowsAt(`1 to 6 of ${posters().length}`)).toEqual(namesOf(posters()));
    expect(sent).toEqual(['Poster']);
    expect(await panel().locator('.receipt').getAttribute('data-calls')).toBe('0');
  });

  it('sorts by a column, in the other direction when it is pressed again', async () => {
    const range = `1 to 6 of ${posters().length}`;
    const direction = (name: string) => head(name).getAttribute('aria-sort');
    await sortBy('Scans');
    await panel().locator('[aria-sort=descending]').waitFor();
    const sorted = mostScans(posters());
    expect(await rowsAt(range)).toEqual(namesOf(sorted));
    await head('Scans').getByRole('button').press('Enter');
    await panel().locator('[aria-sort=ascending]').waitFor();
    expect(await rowsAt(range)).toEqual(namesOf(sorted.toReversed()));
    await sortBy('Name');
    const byName = posters()
      .map(({ name }) => name)
      .sort((a, b) => a.localeCompare(b));
    await expect.poll(() => direction('Name')).toBe('ascending');
    expect(await rowsAt(range)).toEqual(byName.slice(0, 6));
    expect(await direction('Scans')).toBeNull();
    await sortBy('Created');
    await expect.poll(() => direction('Created')).toBe('descending');
    expect(await rowsAt(range)).toEqual(namesOf(posters()));
  });

  it('goes to a page by its number, and to the one before and after it', async () => {
    await panel().getByLabel('Search').fill('');
    await rowsAt('1 to 6 of 70');
    const pages = panel().getByRole('navigation', { name: 'Pages of QR codes' });
    const field = pages.getByLabel('Page, of 12 pages');
    const next = pages.getByRole('button', { name: 'Next page' });
    await field.fill('11');
    await field.press('Enter');
    expect(await rowsAt('61 to 66 of 70')).toEqual(namesOf(codes, 60));
    await next.focus();
    await page.keyboard.press('Enter');
    expect(await rowsAt('67 to 70 of 70')).toEqual(namesOf(codes, 66));
    // On the last page it keeps the focus, and does nothing.
    expect(await next.getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('Enter');
    expect(await field.inputValue()).toBe('12');
    for (const [typed, range] of [
      ['0', '1 to 6 of 70'],
      ['99', '67 to 70 of 70'],
      ['3', '13 to 18 of 70'],
      ['x', '13 to 18 of 70'],
    ] as const) {
      await field.fill(typed);
      await field.press('Enter');
      await rowsAt(range);
    }
    await pages.getByRole('button', { name: 'Previous page' }).click();
    expect(await rowsAt('7 to 12 of 70')).toEqual(namesOf(codes, 6));
  });

  it('has sent no upstream request for any of that', () => {
    expect(world.sandbox.links.requests.filter(({ path }) => path === '/api/qr')).toEqual([]);
  });

  it('keeps what it shows in its address: for a reload, for "Back", for others', async () => {
    await panel().getByLabel('Search').fill('poster');
    await rowsAt('1 to 6 of 14');
    await sortBy('Scans');
    await panel().locator('[aria-sort=descending]').waitFor();
    await panel().getByRole('button', { name: 'Next page' }).click();
    const second = await rowsAt('7 to 12 of 14');
    expect(second).toEqual(namesOf(mostScans(posters()), 6));
    const state = Object.fromEntries(new URL(page.url()).searchParams);
    expect(state).toEqual({ search: 'poster', sort: '-scans', page: '2' });
    await page.reload();
    expect(await rowsAt('7 to 12 of 14')).toEqual(second);
    expect(await panel().getByLabel('Search').inputValue()).toBe('poster');
    await page.goBack();
    expect(await rowsAt('1 to 6 of 14')).toEqual(namesOf(mostScans(posters())));
    const other = await world.open();
    await other.goto(`${world.url}/?sort=-colour&page=99`);
    expect(await rowsAt('67 to 70 of 70', other)).toEqual(namesOf(codes, 66));
    expect(new URL(other.url()).searchParams.get('page')).toBe('12');
    await other.close();
  });

  it('says that nothing matches', async () => {
    await panel().getByLabel('Search').fill('nothing like it');
    await panel().getByText('No QR codes match “nothing like it”.').waitFor();
    expect(await findingsOf(page)).toEqual([]);
  });

  it('shows the previous rows until it has the next, and who scanned a code when it is opened', async () => {
    await panel().getByLabel('Search').fill('table card');
    const [first = ''] = await rowsAt('1 to 6 of 14');
    const { links } = world.sandbox;
    const input = '{ type: LINK, data: { value: "https://example.com" }, name: "Menu" }';
    await world.ask(`mutation { createQrCode(input: ${input}) { __typename } }`);
    const release = hold(world, { path: '/api/qr' });
    await panel().getByLabel('Search').fill('shop window');
    await panel().locator('[aria-busy=true]').waitFor();
    expect((await panel().getByRole('rowheader').allTextContents())[0]).toBe(first);
    release();
    const windows = codes.filter(({ name }) => name.includes('shop window'));
    await rowsAt(`1 to 6 of ${windows.length}`);
    links.clearLog();
    const row = panel().getByRole('rowheader').first().getByRole('button');
    await row.press('Enter');
    await panel()
      .getByRole('definition')
      .getByText(/^\w+ \(\d+\)$/)
      .waitFor();
    expect(await row.getAttribute('aria-expanded')).toBe('true');
    expect(links.requests.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/api\/qr\/\d+$/),
    ]);
    await row.press('Space');
    await panel().getByText('Top country').waitFor({ state: 'detached' });
    await row.click();
    await panel().getByText('Top country').waitFor();
  });

  it('is accessible and fits, with a code open', async () => {
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 800 });
    const box = await panel()
      .locator('.scroll')
      .evaluate(({ clientWidth, scrollWidth }) => scrollWidth - clientWidth);
    expect(box).toBe(0);
  });

  it('had no complaint', () => {
    expect(world.complaints).toEqual([]);
  });
});
