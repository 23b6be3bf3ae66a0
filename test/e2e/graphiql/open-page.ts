import type { Browser, Page } from 'playwright-core';
import type { KnownFindings } from '../axe.ts';

/** Findings that are GraphiQL's own: each of its tabs contains two buttons, to select it and to close it. */
export const THEIRS: KnownFindings = { 'nested-interactive': '.graphiql-tabs' };

/** A page of GraphiQL, and what is noticed of it. */
export interface OpenPage {
  readonly page: Page;
  /** Addresses of other hosts that it has asked for. */
  readonly elsewhere: string[];
  /** What it has written to the console as an error, and what its policy has kept it from. */
  readonly complaints: string[];
}

/** Opens a gateway's page in a window of its own, with a memory of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  { path = '/graphql', width = 1280 }: { path?: string; width?: number } = {},
): Promise<OpenPage> {
  const viewport = { width, height: 800 };
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  const elsewhere: string[] = [];
  const complaints: string[] = [];
  await page.route('**/*', (route) => {
    const target = new URL(route.request().url());
    if (target.origin === url || target.protocol === 'data:') return route.continue();
    elsewhere.push(target.href);
    return route.abort();
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || /Content.Security.Policy/i.test(message.text())) {
      complaints.push(message.text());
    }
  });
  await page.goto(`${url}${path}`, { waitUntil: 'commit' });
  return { page, elsewhere, complaints };
}

/** Waits until the editors are there. */
export async function editorsOf(page: Page): Promise<void> {
  await page.waitForFunction(() => performance.getEntriesByName('editors').length > 0);
}

/** Puts another text into the editor of the operation: what it adds to what is typed is its own matter. */
export async function write(page: Page, text: string, editor = 'operation.graphql'): Promise<void> {
  await page.evaluate(
    ({ editor, text }) => {
      const { __MONACO } = globalThis as unknown as { __MONACO: Monaco };
      const models = __MONACO.editor.getModels();
      models.find(({ uri }) => uri.path.endsWith(editor))?.setValue(text);
    },
    { editor, text },
  );
}

/** As much as is needed here of what GraphiQL leaves in the page for tests. */
interface Monaco {
  readonly editor: {
    getModels(): { readonly uri: { readonly path: string }; setValue(text: string): void }[];
  };
}

/** Presses the button that runs what the editor holds. */
export async function run(page: Page): Promise<void> {
  await page.locator('.graphiql-execute-button').click();
}

/** What the strip above the result says, in one line. */
export async function facts(page: Page): Promise<string> {
  return (await page.locator('.facts .fact').allTextContents()).join(', ');
}
