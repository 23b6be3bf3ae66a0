import { useEffect } from 'react';
import { useQuery } from 'urql';
import { Budget } from '../graph/documents.ts';

const EVERY_MS = 2000;

/** From here on the rest is small, as a share of the limit. */
const HIGH = 0.8;

interface Spent {
  readonly limit: number;
  readonly used: number;
  readonly queued: number;
}

function Meter({ name, spent }: { name: string; spent: Spent | undefined }) {
  const { limit, used, queued } = spent ?? { limit: 0, used: 0, queued: 0 };
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  const text = limit > 0 ? `${used} of ${limit}` : spent ? 'not configured' : '';
  return (
    <div className="budget">
      <p>
        <span>{name}</span>
        {queued > 0 && <span className="queued">{queued} waiting</span>}
        <span className="spent">{text}</span>
      </p>
      <div
        className={share >= HIGH ? 'meter meter-high' : 'meter'}
        role="meter"
        aria-label={`${name}: requests in the current window`}
        aria-valuemin={0}
        aria-valuemax={limit || 1}
        aria-valuenow={Math.min(used, limit)}
        aria-valuetext={text || 'loading'}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  );
}

/** How much of the requests that both APIs allow is spent. Costs nothing. */
export function BudgetMeters() {
  const [{ data }, execute] = useQuery({ query: Budget, requestPolicy: 'network-only' });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') execute({ requestPolicy: 'network-only' });
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [execute]);
  return (
    <div className="budgets">
      <Meter name="Links" spent={data?.links} />
      <Meter name="Market" spent={data?.market} />
    </div>
  );
}
