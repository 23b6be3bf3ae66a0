import { type Answer, escapeHtml, htmlPage, Refusal } from '../http/answer.ts';
import { type Routes, runRoute, type SandboxRequest } from '../http/router.ts';

/** Pages outside /api. */
export type Pages<Store> = Routes<
  { store: Store; request: SandboxRequest },
  Answer | Promise<Answer>
>;

/** The page or picture for a path; a refusal is a page too. */
export async function showPage<Store>(
  pages: Pages<Store>,
  store: Store,
  request: SandboxRequest,
): Promise<Answer> {
  try {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    return await runRoute(pages, { method, path: request.path }, { store, request });
  } catch (error) {
    const [status, message] =
      error instanceof Refusal
        ? [error.status, error.message]
        : [500, 'Something went wrong in the sandbox'];
    return htmlPage(titleOf(status), `<p>${escapeHtml(message)}.</p>`, status);
  }
}

/** The row, or a 404 page. */
export function shown<R>(row: R | undefined): R {
  if (row === undefined) throw new Refusal(404, 'There is no such page here');
  return row;
}

function titleOf(status: number): string {
  const titles: Record<number, string> = { 404: 'Not found', 405: 'Not allowed', 410: 'Gone' };
  return titles[status] ?? 'Error';
}
