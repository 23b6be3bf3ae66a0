import { useEffect, useState } from 'react';
import {
  type ActiveFault,
  type Api,
  type Change,
  changeFaults,
  type Fault,
} from '../graph/faults.ts';
import type { Sandbox } from '../graph/settings.ts';
import { Failure, Panel } from '../parts/panel.tsx';
import { useNow } from '../parts/use-now.ts';

const FOR_MS = 30_000;

const apis = [
  ['links', 'Links'],
  ['market', 'Marketplace'],
] as const;

/** What a button adds, and how to distinguish its fault from the others. */
const faults: readonly { readonly label: string; readonly fault: Fault }[] = [
  { label: 'Slow, 3 s', fault: { kind: 'slow', delayMs: 3000 } },
  { label: 'Rate limit, 429', fault: { kind: 'refuse-429', retryAfter: 10 } },
  { label: 'Error, 500', fault: { kind: 'error-500' } },
  { label: 'HTML page', fault: { kind: 'html' } },
  { label: 'No response', fault: { kind: 'hang' } },
  {
    label: 'Connection lost before write',
    fault: { kind: 'drop', method: 'POST', applied: false },
  },
  { label: 'Connection lost after write', fault: { kind: 'drop', method: 'POST', applied: true } },
  { label: 'Key rejected, 401', fault: { kind: 'bad-key' } },
];

function isOf(active: ActiveFault, { kind, applied }: Fault): boolean {
  return active.kind === kind && active['applied'] === applied;
}

/** Makes an API of the sandbox fail for a while. No upstream calls. */
export function FailuresPanel({ sandbox }: { sandbox: Sandbox }) {
  const [api, setApi] = useState<Api>('links');
  const [shown, setShown] = useState<{ api: Api; faults: readonly ActiveFault[] } | null>(null);
  const [failed, setFailed] = useState(false);
  const now = useNow();

  async function update(part?: Change): Promise<void> {
    setShown({ api, faults: await changeFaults(sandbox, api, part) });
    setFailed(false);
  }
  const change = (part?: Change): void => {
    update(part).catch(() => setFailed(true));
  };
  useEffect(() => change(), [api]);

  const secondsOf = ({ endsAt }: ActiveFault): number | null =>
    endsAt === null ? null : Math.ceil((Date.parse(endsAt) - now) / 1000);
  // An answer of the other API may come late.
  const active = shown?.api === api ? shown.faults : [];
  const inForce = active.filter((fault) => (secondsOf(fault) ?? 1) > 0);
  return (
    <Panel title="Failures" name="failures">
      <p className="muted">
        Makes the selected API of the sandbox fail for {FOR_MS / 1000} seconds. Cached data is still
        served.
      </p>
      <fieldset>
        <legend className="visually-hidden">API</legend>
        {apis.map(([name, label]) => (
          <label key={name} className="check">
            <input type="radio" name="api" checked={api === name} onChange={() => setApi(name)} />{' '}
            {label}
          </label>
        ))}
      </fieldset>
      <div className="choices" role="group" aria-label="Failures">
        {faults.map(({ label, fault }) => {
          const set = inForce.find((each) => isOf(each, fault));
          const left = set && secondsOf(set);
          return (
            <button
              key={label}
              type="button"
              className="quiet"
              aria-pressed={set !== undefined}
              onClick={() =>
                change(set ? { remove: set.id } : { add: { ...fault, forMs: FOR_MS } })
              }
            >
              {label}
              {left != null && <span className="left"> {left} s</span>}
            </button>
          );
        })}
      </div>
      {failed && (
        <Failure errors={[{ message: 'The sandbox cannot be reached.' }]} again={() => change()} />
      )}
    </Panel>
  );
}
