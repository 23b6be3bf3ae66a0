import { useCallback, useEffect, useState } from 'react';

/** What a table shows. */
export interface TableState {
  readonly search: string;
  /** The column to sort by, with a minus in front for descending; empty for the order of the API. */
  readonly sort: string;
  /** From 1 on. */
  readonly page: number;
}

/** Keeps offsets 32-bit integers. */
const MOST_PAGES = 1_000_000;

/** In characters. */
export const LONGEST_SEARCH = 100;

function read(): TableState {
  const query = new URLSearchParams(location.search);
  const page = Math.trunc(Number(query.get('page')));
  return {
    search: query.get('search')?.slice(0, LONGEST_SEARCH) ?? '',
    sort: query.get('sort') ?? '',
    page: Math.min(Math.max(page || 1, 1), MOST_PAGES),
  };
}

/** The address of this page with another state; defaults are left out. */
function addressOf({ search, sort, page }: TableState): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries({ search, sort, page: page > 1 ? `${page}` : '' })) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  return `${location.pathname}${query.size > 0 ? `?${query}` : ''}${location.hash}`;
}

/** Changes a part of the state. All but a change of the page start with the first page. */
type Change = (part: Partial<TableState>, how?: 'pushState' | 'replaceState') => void;

/**
 * The state of a table, kept in the address of the page: it survives a reload and can be bookmarked. `pushState`, the
 * default, adds an entry to the history of the browser.
 */
export function useTableState(): [TableState, Change] {
  const [state, setState] = useState(read);
  useEffect(() => {
    const onBack = (): void => setState(read());
    addEventListener('popstate', onBack);
    return () => removeEventListener('popstate', onBack);
  }, []);
  const change: Change = useCallback((part, how = 'pushState') => {
    const next = { ...read(), page: 1, ...part };
    history[how](null, '', addressOf(next));
    setState(next);
  }, []);
  return [state, change];
}
