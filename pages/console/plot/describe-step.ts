import type { SlotOwner, UpstreamState } from '../../../src/console/console-state.ts';
import { html } from '../dom.ts';
import { looks, ownerMark } from '../lanes.ts';
import { counted, timeOfDay } from '../words.ts';
import { layers } from './shapes.ts';

/** What happened in one step of the history. */
interface DescribedStep {
  readonly time: string;
  readonly lines: readonly StepLine[];
}

interface StepLine {
  readonly text: string;
  readonly owner?: SlotOwner;
  readonly className?: 'muted' | 'bad';
}

/** Describes what one step sent, for whom, and what waited and was refused meanwhile. */
export function describeStep(
  { history, ...upstream }: UpstreamState,
  index: number,
  inWindow: number | null,
): DescribedStep {
  const at = history.lastStepAt - (history.write.length - 1 - index) * history.stepMs;
  const lines: StepLine[] = layers
    .map((layer) => ({
      sent: history[layer][index] ?? 0,
      text: words[layer],
      owner: layer === 'foreign' ? ('co-tenant' as const) : layer,
    }))
    .filter(({ sent }) => sent > 0)
    .map(({ owner, sent, text }) => ({ owner, text: text(sent) }));
  if (lines.length === 0) lines.push({ text: 'nothing sent' });
  const queued = history.queued[index] ?? 0;
  if (queued > 0) lines.push({ text: `up to ${queued} waiting` });
  const refused = history.refused[index] ?? 0;
  if (refused > 0) lines.push({ text: `${refused} refused`, className: 'bad' });
  const failed = history.failed[index] ?? 0;
  if (failed > 0) lines.push({ text: `${failed} failed`, className: 'bad' });
  if (inWindow !== null) {
    lines.push({ text: `${inWindow} in ${upstream.windowMs / 1000} s`, className: 'muted' });
  }
  return { time: timeOfDay(at), lines };
}

/** The same as one sentence, for a screen reader. */
export function stepInWords({ lines, time }: DescribedStep): string {
  return `${time}: ${lines.map(({ text }) => text).join(', ')}`;
}

/** The same for the eye. */
export function stepList({ lines }: DescribedStep): HTMLElement {
  const items = lines.map(({ className = '', owner, text }) =>
    html('li', { class: className }, ...(owner ? [ownerMark(owner)] : []), html('span', {}, text)),
  );
  return html('ul', {}, ...items);
}

const words: Readonly<Record<(typeof layers)[number], (sent: number) => string>> = {
  write: (sent) => counted(sent, looks.write.word),
  interactive: (sent) => counted(sent, looks.interactive.word),
  refresh: (sent) => counted(sent, looks.refresh.word, 'refreshes'),
  bulk: (sent) => `${sent} by jobs`,
  foreign: (sent) => `${sent} by co-tenants or replicas`,
};
