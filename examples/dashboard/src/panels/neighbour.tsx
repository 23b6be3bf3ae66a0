import { useState } from 'react';
import { useClient } from 'urql';
import { type Race, runRace } from '../graph/race.ts';
import type { Settings } from '../graph/settings.ts';
import { duration } from '../parts/format.ts';
import { Failure, Panel } from '../parts/panel.tsx';

function Bar({ who, ms, most }: { who: string; ms: number | null; most: number }) {
  return (
    <div className={ms === null ? 'bar bar-waiting' : 'bar'}>
      <span>{who}</span>
      <span className="track" aria-hidden="true">
        <span style={{ width: ms === null ? '100%' : `${Math.max(1, (ms / most) * 100)}%` }} />
      </span>
      <span className="number">{ms === null ? 'waiting' : duration(ms)}</span>
    </div>
  );
}

/** What the race comes to, in one sentence. */
function verdict({ own, stillWaiting, operations, neighbour, turnedAway }: Race): string {
  if (own === null) return 'Your operation waits in the queue with those of the neighbor.';
  const ended = neighbour.length + turnedAway === operations;
  const worst = duration(Math.max(0, ...neighbour));
  const away = turnedAway > 0 ? `; the gateway rejected ${turnedAway} of them` : '';
  if (ended)
    return `Your operation waited ${duration(own)}, the neighbor’s operations up to ${worst}${away}.`;
  return `Your operation waited ${duration(own)}. At that time, ${stillWaiting} of the neighbor’s ${operations} operations still waited.`;
}

/** Shows that callers take turns: one who asks for very much delays itself. */
export function NeighbourPanel({ settings }: { settings: Settings }) {
  const client = useClient();
  const [race, setRace] = useState<Race | null>(null);
  const [running, setRunning] = useState(false);
  const [failed, setFailed] = useState(false);

  async function run(): Promise<void> {
    setRunning(true);
    setFailed(false);
    setRace(null);
    try {
      await runRace(client, settings, setRace);
    } catch {
      setFailed(true);
    }
    setRunning(false);
  }

  const most = Math.max(1, race?.own ?? 0, ...(race?.neighbour ?? []));
  return (
    <Panel title="Noisy neighbor" name="neighbour">
      {settings.neighbourToken === null ? (
        <p className="empty">
          This requires a gateway that distinguishes callers. <code>npm run demo</code> starts one.
        </p>
      ) : (
        <>
          <p className="muted">
            Another caller queues more marketplace requests than the rate limit allows. Then you
            send one.
          </p>
          <button type="button" onClick={() => void run()} disabled={running}>
            {running ? 'Running…' : 'Run the noisy neighbor'}
          </button>
        </>
      )}
      {failed && (
        <Failure
          errors={[{ message: 'The gateway cannot be reached.' }]}
          again={() => void run()}
        />
      )}
      {race && (
        <div className="race">
          <Bar who="You, 1 read" ms={race.own} most={most} />
          {Array.from({ length: race.operations - race.turnedAway }, (_, index) => (
            <Bar
              key={index}
              who={`Neighbor, ${race.reads / race.operations} reads`}
              ms={race.neighbour[index] ?? null}
              most={most}
            />
          ))}
          <p role="status">{verdict(race)}</p>
        </div>
      )}
    </Panel>
  );
}
