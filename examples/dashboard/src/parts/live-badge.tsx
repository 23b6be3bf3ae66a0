import type { LiveState } from 'links-market-client';
import { useEffect, useState } from 'react';

/** A stream that ends is made again after a fifth of a second: that is not worth a word, in milliseconds. */
const PATIENCE_MS = 1000;

const words: Readonly<Record<LiveState, string>> = {
  open: 'Live',
  polling: 'Every 30 s',
  waiting: 'Reconnecting',
  ended: 'Not live',
};

/** Says whether what is shown stays current by itself, and when it does not. */
export function LiveBadge({ state }: { state: LiveState | null }) {
  const shown = useLasting(state);
  return shown && <span className={`live ${shown}`}>{words[shown]}</span>;
}

/** The state, but for a wait that is over at once. */
function useLasting(state: LiveState | null): LiveState | null {
  const [lasting, setLasting] = useState(state);
  useEffect(() => {
    const timer = setTimeout(() => setLasting(state), state === 'waiting' ? PATIENCE_MS : 0);
    return () => clearTimeout(timer);
  }, [state]);
  return lasting;
}
