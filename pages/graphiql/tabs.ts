/** A tab as GraphiQL keeps it. Headers are never kept: they carry credentials. */
export interface TabState {
  id: string;
  title: string;
  query: string | null;
  variables: string | null;
  headers: null;
  operationName: string | null;
  response: null;
}

/** All tabs, and which of them is open. */
export interface Tabs {
  readonly tabs: TabState[];
  activeTabIndex: number;
}

/** What a tab opens on, as the gateway brings it along. */
export interface Example {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

const KEY = 'graphiql:tabState';

/** The browser's memory, or the page's own where the browser allows none; credentials come into neither. */
export const storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'clear' | 'length'> =
  (() => {
    const own = new Map<string, string>();
    let kept: Storage | null = null;
    try {
      kept = localStorage;
    } catch {
      // Such as in a frame without rights.
    }
    return {
      getItem: (key) => (kept ? kept.getItem(key) : (own.get(key) ?? null)),
      setItem(key, value) {
        const safe = withoutHeaders(key, value);
        if (kept) kept.setItem(key, safe);
        else own.set(key, safe);
      },
      removeItem: (key) => (kept ? kept.removeItem(key) : void own.delete(key)),
      clear: () => (kept ? kept.clear() : own.clear()),
      get length() {
        return kept ? kept.length : own.size;
      },
    };
  })();

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

/** The tabs of the last visit, or the examples; an operation in the address is opened too. */
export function openTabs(examples: readonly Example[]): Tabs {
  const found = lastTabs() ?? { tabs: examples.map(tabOf), activeTabIndex: 0 };
  const asked = new URL(location.href).searchParams;
  const query = asked.get('query');
  if (query === null) return found;
  const variables = asked.get('variables');
  const index = found.tabs.findIndex(
    (tab) => tab.query === query && (tab.variables ?? '') === (variables ?? ''),
  );
  if (index >= 0) found.activeTabIndex = index;
  else found.activeTabIndex = found.tabs.push(newTab(query, variables)) - 1;
  return found;
}

/** Leaves the tabs where GraphiQL looks for them. */
export function leaveTabs(tabs: Tabs): void {
  storage.setItem(KEY, JSON.stringify(tabs));
}

/** Puts the operation that is looked at into the address, where it can be copied from. */
export function tellAddress(query: string, variables: string): void {
  const address = new URL(location.href);
  // Proxies refuse longer ones.
  const fits = query.length + variables.length < 6000;
  for (const [name, value] of [
    ['query', query],
    ['variables', variables],
  ] as const) {
    if (fits && value.trim()) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, '', address);
}

function lastTabs(): Tabs | null {
  try {
    const { activeTabIndex, tabs } = JSON.parse(storage.getItem(KEY) ?? '') as Tabs;
    const isWhole =
      tabs.length > 0 &&
      tabs.every(({ id, title }) => typeof id === 'string' && title !== undefined);
    if (!isWhole) return null;
    return { tabs, activeTabIndex: Math.min(Math.max(0, activeTabIndex), tabs.length - 1) };
  } catch {
    return null;
  }
}

function tabOf({ query, variables }: Example): TabState {
  return newTab(query, variables ? JSON.stringify(variables, null, 2) : null);
}

function newTab(query: string, variables: string | null): TabState {
  const operationName = nameIn(query);
  return {
    id: crypto.getRandomValues(new Uint32Array(2)).join('-'),
    title: operationName ?? '<untitled>',
    query,
    variables,
    headers: null,
    operationName,
    response: null,
  };
}

/** The name of the first operation in a text. */
function nameIn(query: string): string | null {
  return /^\s*(?:query|mutation)\s+(\w+)/m.exec(query)?.[1] ?? null;
}
