import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** A colour scheme and a size in which a page is looked at. */
export interface View {
  readonly scheme: 'light' | 'dark';
  readonly width: 1280 | 390;
}

/** Both schemes in both sizes. */
const views: readonly View[] = [
  { scheme: 'light', width: 1280 },
  { scheme: 'light', width: 390 },
  { scheme: 'dark', width: 390 },
  { scheme: 'dark', width: 1280 },
];

/** Findings that are the fault of a library, by their rule: a selector of the elements that contain them. */
export type KnownFindings = Readonly<Record<string, string>>;

/** What axe finds in the page as it stands: the rule and the element of each finding that is not known. */
export async function findingsOf(page: Page, known: KnownFindings = {}): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  return page.evaluate(async (excused) => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes
        .map(({ target }) => String(target))
        .filter((target) => !document.querySelector(target)?.closest(excused[id] ?? '#none'))
        .map((target) => `${id}: ${target}`),
    );
  }, known);
}

/** Fails if the page as it stands has a finding of axe or is wider than its window, in either scheme and size. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const { scheme, width } of views) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    const beyond = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    const findings = await findingsOf(page);
    expect({ scheme, width, beyond, findings }).toEqual({ scheme, width, beyond: 0, findings: [] });
  }
}
