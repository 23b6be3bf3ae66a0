import examples from './examples.graphql?raw';

/** What a tab opens on. */
interface Opened {
  readonly query: string;
  readonly variables?: string;
}

/** The browser's memory, without credentials; GraphiQL keeps nothing where the browser allows none. */
export const storage = keptStorage() as Storage;

function keptStorage(): Storage | null {
  try {
    const kept = localStorage;
    return {
      key: (index) => kept.key(index),
      getItem: (key) => kept.getItem(key),
      setItem: (key, value) => kept.setItem(key, withoutHeaders(key, value)),
      removeItem: (key) => kept.removeItem(key),
      clear: () => kept.clear(),
      get length() {
        return kept.length;
      },
    };
  } catch {
    return null;
  }
}

/** GraphiQL's history would keep them with each operation. */
function withoutHeaders(key: string, value: string): string {
  if (key === 'graphiql:headers') return '';
  if (!/"headers"/.test(value)) return value;
  try {
    return JSON.stringify(JSON.parse(value), (name, part: unknown) =>
      name === 'headers' ? null : part,
    );
  } catch {
    return value;
  }
}

/** The operation in the address; `null` if there is none. */
export function askedInAddress(): Opened | null {
  const asked = new URL(location.href).searchParams;
  const query = asked.get('query');
  return query === null ? null : { query, variables: asked.get('variables') ?? '' };
}

/** The tabs of a first visit. */
export function firstTabs(): Opened[] {
  const asked = askedInAddress();
  const tabs = examples.split('\n\n').map((query) => ({ query }));
  return asked ? [asked, ...tabs] : tabs;
}

/** Puts the operation that is looked at into the address, where it can be copied from. */
export function tellAddress(query: string, variables: string): void {
  const address = new URL(location.href);
  // Proxies refuse longer ones.
  const fits = query.length + variables.length < 6000;
  for (const [name, value] of Object.entries({ query, variables })) {
    if (fits && value.trim()) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, '', address);
}
