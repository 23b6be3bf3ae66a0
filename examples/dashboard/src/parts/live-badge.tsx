import type { LiveState } from 'links-market-client';
import { useEffect, useState } from 'react';

/** Shorter waits are not shown: a stream that ends is reopened after a second. In milliseconds. */
const PATIENCE_MS = 2000;

const words: Readonly<Record<LiveState, string>> = {
  open: 'Live',
  polling: 'Updated every 30 s',
  waiting: 'Reconnecting',
  ended: 'Not live',
};

/** Shows whether the data is kept current. */
export function LiveBadge({ state }: { state: LiveState | null }) {
  const shown = useLasting(state);
  return shown && <span className={`live ${shown}`}>{words[shown]}</span>;
}

/** The state, without short waits. */
function useLasting(state: LiveState | null): LiveState | null {
  const [lasting, setLasting] = useState(state);
  useEffect(() => {
    const timer = setTimeout(() => setLasting(state), state === 'waiting' ? PATIENCE_MS : 0);
    return () => clearTimeout(timer);
  }, [state]);
  return lasting;
}
