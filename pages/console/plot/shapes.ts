import type { SendSteps } from '../../../src/observe/history/sends.ts';

/** Who sends, from the bottom of a column to its top. */
export const layers = ['write', 'interactive', 'refresh', 'bulk', 'foreign'] as const;

/** Three charts over one time: what the window held, what was sent, and, downward, what waited. */
export const rows = {
  window: { top: 16, bottom: 72 },
  sends: { top: 92, bottom: 172 },
  queue: { top: 175, bottom: 205 },
  height: 226,
} as const;

/** Where columns stand, in pixels. */
export interface Across {
  readonly left: number;
  readonly step: number;
}

/** Paths and scales of a plot, ready to be drawn. */
export interface Shapes {
  readonly layers: Readonly<Record<(typeof layers)[number], string>>;
  readonly window: { readonly line: string; readonly area: string };
  readonly limitY: number;
  readonly queue: string;
  readonly refusals: string;
  readonly failures: string;
  /** What the tallest column stands for. */
  readonly mostSent: number;
  readonly mostQueued: number;
}

/** What one step sent, for all spenders. */
function sentIn(history: SendSteps, index: number): number {
  return layers.reduce((sum, layer) => sum + (history[layer][index] ?? 0), 0);
}

/**
 * What the windows sent that end with each step: the figure that the rate limit is about. A line across single steps would
 * say nothing, since one of them may spend all of it. `null` for the first, of whose windows only a part is known.
 */
export function sentInWindows(history: SendSteps, windowMs: number): (number | null)[] {
  const steps = Math.max(1, Math.round(windowMs / history.stepMs));
  let sum = 0;
  return history.write.map((_, index) => {
    sum += sentIn(history, index);
    if (index >= steps) sum -= sentIn(history, index - steps);
    return index >= steps - 1 ? sum : null;
  });
}

/** Draws the history of an upstream; `windows` are what windows sent that end with its steps. */
export function shapesOf(
  history: SendSteps,
  limit: number,
  windows: readonly (number | null)[],
  across: Across,
): Shapes {
  const indices = [...history.write.keys()];
  const mostSent = Math.max(4, ...indices.map((index) => sentIn(history, index)));
  const mostQueued = Math.max(4, ...history.queued);
  const known = windows.filter((sent) => sent !== null);
  const most = Math.max(limit, ...known);
  const inWindow = (sent: number): number => within(rows.window, sent / most);
  const first = round(across.left + across.step * (windows.length - known.length));
  const line = steps(known.map(inWindow), { left: first, step: across.step });
  const right = round(across.left + across.step * indices.length);
  const { bottom } = rows.window;
  return {
    layers: columns(history, mostSent, across),
    window: { line, area: line && `${line}L${right} ${bottom}H${first}z` },
    limitY: round(inWindow(limit)),
    queue: hanging(history.queued, mostQueued, across),
    refusals: ticks(history.refused, across),
    failures: crosses(history.failed, across),
    mostSent,
    mostQueued,
  };
}

function columns(history: SendSteps, most: number, across: Across): Shapes['layers'] {
  const paths = { write: '', interactive: '', refresh: '', bulk: '', foreign: '' };
  const width = barWidth(across);
  for (const index of history.write.keys()) {
    let below = 0;
    for (const layer of layers) {
      const sent = history[layer][index] ?? 0;
      if (sent === 0) continue;
      const bottom = within(rows.sends, below / most);
      below += sent;
      const top = within(rows.sends, below / most);
      paths[layer] += box(across.left + index * across.step, top, width, bottom - top);
    }
  }
  return paths;
}

function hanging(queued: readonly number[], most: number, across: Across): string {
  const { bottom, top } = rows.queue;
  return queued
    .map((waiting, index) => {
      const height = ((bottom - top) * waiting) / most;
      return waiting > 0 ? box(across.left + index * across.step, top, across.step, height) : '';
    })
    .join('');
}

/** From top to bottom, with a head to be seen by. */
function ticks(refused: readonly number[], across: Across): string {
  const { bottom, top } = rows.sends;
  return refused
    .map((times, index) => {
      const x = round(across.left + (index + 0.5) * across.step);
      return times > 0 ? `M${x} ${bottom}V${top + 7}l-4-7h8l-4 7` : '';
    })
    .join('');
}

/** Above the columns, so that they are seen whatever was sent. */
function crosses(failed: readonly number[], across: Across): string {
  const y = rows.sends.top + 2;
  return failed
    .map((times, index) => {
      const x = round(across.left + (index + 0.5) * across.step);
      return times > 0 ? `M${x - 3} ${y - 3}l6 6m0-6l-6 6` : '';
    })
    .join('');
}

function steps(ys: readonly number[], { left, step }: Across): string {
  return ys
    .map(
      (y, index) =>
        `${index === 0 ? 'M' : 'L'}${round(left + index * step)} ${round(y)}h${round(step)}`,
    )
    .join('');
}

function within({ bottom, top }: { bottom: number; top: number }, part: number): number {
  return bottom - (bottom - top) * part;
}

function box(x: number, y: number, width: number, height: number): string {
  return `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}z`;
}

function barWidth({ step }: Across): number {
  return step >= 3 ? step - 1 : step;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
