import { useEffect } from 'react';
import { useQuery } from 'urql';
import { Budget } from '../graph/documents.ts';

const EVERY_MS = 2000;

/** How much of the minute's requests is spent. Costs nothing. */
export function BudgetMeter() {
  const [{ data }, execute] = useQuery({ query: Budget, requestPolicy: 'network-only' });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') execute({ requestPolicy: 'network-only' });
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [execute]);
  const { limit = 0, used = 0, queued = 0 } = data?.rateLimit ?? {};
  return (
    <div className="budget">
      <label htmlFor="budget">
        {data ? (
          <>
            <strong>{used}</strong> of {limit} requests this minute
            {queued > 0 && `, ${queued} waiting`}
          </>
        ) : (
          'Budget'
        )}
      </label>
      <meter id="budget" min={0} max={limit || 1} high={limit * 0.8} optimum={0} value={used} />
    </div>
  );
}
