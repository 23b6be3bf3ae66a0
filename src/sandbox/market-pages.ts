import { type Answer, htmlPage } from './answer.ts';
import type { MarketStore } from './market-store.ts';
import type { SandboxRequest } from './router.ts';

/** Anything of the marketplace outside /api. */
export async function marketPage(
  _store: MarketStore,
  _request: SandboxRequest,
  _endpoints: readonly { method: string; path: string }[],
): Promise<Answer> {
  return htmlPage('Not found', '<p>There is no such page.</p>', 404);
}
