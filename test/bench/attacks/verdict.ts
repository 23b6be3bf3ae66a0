import type { Figure } from '../report/measurement.ts';
import { type Outcome, STALL_MS } from './stage.ts';

const MB = 1024 * 1024;
/** Memory held after an attack, over that before it: old objects may take half as much again until V8 collects. */
const BACK_TO = 1.5;
/** What a pod may have, by deploy/kubernetes.yaml. */
const LARGEST_MB = 512;

/** How an attack went: the stall, and what it was made for. */
export function figuresOf(outcome: Outcome): readonly Figure[] {
  const { attack, figures, livez } = outcome;
  return [
    {
      label: `${attack.name}: longest response time of /livez`,
      value: livez.worst,
      unit: ' ms',
      target: { atMost: STALL_MS },
      note: noteOn(outcome),
    },
    ...perConnection(outcome),
    ...figures.map((figure) => ({ ...figure, label: `${attack.name}: ${figure.label}` })),
  ];
}

/** What must hold under every attack, and where it does not. */
export function figuresOfAll(outcomes: readonly Outcome[]): readonly Figure[] {
  const dead = outcomes.filter(({ lives }) => !lives);
  const silent = outcomes.filter(({ lives, after }) => lives && !after);
  const refused = outcomes.filter(({ reader }) => reader.wrong > 0 || reader.answers === 0);
  const dear = outcomes.filter(({ attack, calls }) => calls > attack.mayCall);
  const defective = outcomes.filter(({ defects }) => defects > 0);
  const told = outcomes.filter(({ after }) => after);
  const fattest = worst(told, heldRatio);
  const largest = worst(outcomes, largestMb);
  return [
    none('attacks that end the process', dead),
    none('attacks after which the gateway does not respond', silent),
    none('attacks during which an honest reader gets errors', refused),
    none('attacks that use more upstream calls than allowed', dear),
    none('attacks answered with INTERNAL_SERVER_ERROR', defective),
    {
      label: 'highest memory after an attack, over before',
      value: fattest ? heldRatio(fattest) : Number.NaN,
      digits: 2,
      target: { atMost: BACK_TO },
      note: namesOf(told.filter((each) => heldRatio(each) > BACK_TO)) || fattest?.attack.name || '',
    },
    {
      label: 'highest memory of the process',
      value: largest ? largestMb(largest) : Number.NaN,
      unit: ' MB',
      target: { atMost: LARGEST_MB },
      note:
        namesOf(outcomes.filter((each) => largestMb(each) > LARGEST_MB)) ||
        largest?.attack.name ||
        '',
    },
    {
      label: 'longest response time of the bare server',
      value: Math.max(...outcomes.map(({ bare }) => bare.worst)),
      unit: ' ms',
    },
  ];
}

function perConnection({ attack, before, peak }: Outcome): readonly Figure[] {
  const { connections } = attack;
  if (!connections) return [];
  if (peak === null) return [];
  return [
    {
      label: `${attack.name}: memory growth at the peak, per connection`,
      value: (peak - before.rss) / connections.count / 1024,
      unit: ' kB',
      target: { atMost: connections.mayHoldBytes / 1024 },
      note: `${connections.count} connections`,
    },
  ];
}

/** The bare server, the process inside, the reader, and the calls. */
function noteOn(outcome: Outcome): string {
  const { after, attack, bare, calls, lives, peak, reader } = outcome;
  return [
    `bare ${Math.round(bare.worst)} ms`,
    ...(after ? [`turn ${Math.round(after.longestTurnMs)} ms`] : []),
    ...(lives ? [] : ['the process has ended']),
    ...(lives && !after ? ['silent from then on'] : []),
    ...(peak === null || !lives ? [] : [`${Math.round(peak / MB)} MB`]),
    ...(after ? [`holds ${heldRatio(outcome).toFixed(2)}`] : []),
    `reader ${reader.answers - reader.wrong} of ${reader.answers} in ${Math.round(reader.worst)} ms`,
    `calls ${calls} of ${attack.mayCall}`,
  ].join('; ');
}

function none(label: string, outcomes: readonly Outcome[]): Figure {
  return { label, value: outcomes.length, target: { atMost: 0 }, note: namesOf(outcomes) };
}

function namesOf(outcomes: readonly Outcome[]): string {
  return outcomes.map(({ attack }) => attack.name).join(', ');
}

function worst(
  outcomes: readonly Outcome[],
  by: (outcome: Outcome) => number,
): Outcome | undefined {
  return outcomes.toSorted((a, b) => by(b) - by(a))[0];
}

function heldRatio({ after, before }: Outcome): number {
  return (after?.held ?? Number.NaN) / before.held;
}

function largestMb({ peak }: Outcome): number {
  return (peak ?? 0) / MB;
}
