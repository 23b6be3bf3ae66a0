import type { Row, World } from '../support/gateway.ts';

/** Every row of a paged list of the link API, read over plain HTTP. */
export async function everyRow(world: World, path: string, key: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await world.links(`${path}?limit=100&page=${page}`);
    const members = (answer['data'] ?? answer) as Row;
    rows.push(...(members[key] as readonly Row[]));
    if (members['nextpage'] == null) return rows;
  }
}

/** The link API's timestamp, or the marketplace's with its fractions, as the graph writes moments. */
export function moment(stamp: unknown): string | null {
  if (typeof stamp !== 'string') return null;
  return new Date(`${stamp.slice(0, 19).replace(' ', 'T')}Z`).toISOString().replace('.000', '');
}

/** Text without the HTML escapes that the upstreams store it with. */
export function plain(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#039;', "'")
    .replaceAll('&amp;', '&');
}

/** An account, or what a user has in common with one, as the graph must answer it. */
export function account(row: unknown): Row {
  const { id, email, username, avatar, status, expires, registered } = row as Row;
  return {
    databaseId: id,
    email,
    username,
    avatar,
    status: String(status).toUpperCase(),
    expires: moment(expires),
    registered: moment(registered),
  };
}
