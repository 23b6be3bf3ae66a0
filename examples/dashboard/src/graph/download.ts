import type { Settings } from './settings.ts';

/**
 * Saves the output of a job. A link could not send the token, so that the page holds the file until the browser has
 * saved it. Costs nothing.
 * @throws Error if it cannot be downloaded.
 */
export async function download(
  { gateway, token }: Settings,
  path: string,
  name: string,
): Promise<void> {
  const response = await fetch(`${gateway}${path}`, {
    headers: token ? { authorization: `Bearer ${token}` } : {},
  });
  if (!response.ok) throw new Error(`The download has failed with status ${response.status}.`);
  // With a byte order mark spreadsheets read it as UTF-8.
  const url = URL.createObjectURL(new Blob(['\uFEFF', await response.blob()]));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}
