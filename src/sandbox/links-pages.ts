import { type Answer, htmlPage } from './answer.ts';
import type { LinksStore } from './links-store.ts';
import type { SandboxRequest } from './router.ts';

/** Anything of the link service outside /api. */
export async function linksPage(
  _store: LinksStore,
  _request: SandboxRequest,
  _endpoints: readonly { method: string; path: string }[],
): Promise<Answer> {
  return htmlPage('Not found', '<p>There is no such page.</p>', 404);
}
