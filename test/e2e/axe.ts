import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Findings that are the fault of a library, by their rule: a selector of the elements that contain them. */
export type KnownFindings = Readonly<Record<string, string>>;

/** What axe finds in the page as it stands: the rule and the element of each finding that is not known. */
export async function findingsOf(page: Page, known: KnownFindings = {}): Promise<string[]> {
  await page.evaluate(axe.source);
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
