import type { Settings } from '../graph/settings.ts';
import { FailuresPanel } from './failures.tsx';
import { NeighbourPanel } from './neighbour.tsx';

/** What the demo has besides an app: a caller who asks for too much, and failures of the sandbox. */
export function DemoControls({ settings }: { settings: Settings }) {
  return (
    <section className="demo" aria-labelledby="demo">
      <h2 id="demo">Demo controls</h2>
      <p className="muted">These controls are for the demo only; an app does not need them.</p>
      <div className="panels">
        <NeighbourPanel settings={settings} />
        {settings.sandbox && <FailuresPanel sandbox={settings.sandbox} />}
      </div>
    </section>
  );
}
