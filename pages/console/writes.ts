import type { ConsoleState, UpstreamState } from '../../src/console/console-state.ts';
import { count } from './words.ts';

/** The words for the ends of writes, in the order in which they are shown. */
const words = {
  executed: 'executed',
  replayed: 'replayed',
  reconciled: 'reconciled',
  unknown: 'unknown',
  rejected: 'rejected',
  conflict_in_use: 'key in use',
  reused: 'key reused',
} as const;

/** The writes with idempotency keys or lost responses of the last hour, in a line; empty if there were none. */
export function writesInWords(
  { writes }: Pick<UpstreamState, 'writes'>,
  { idempotency: { ambiguous, inProgress } }: Pick<ConsoleState, 'idempotency'>,
): string {
  if (!writes) return '';
  const { keyed, resent, unkeyed } = writes;
  const ends = Object.keys(words) as (keyof typeof words)[];
  const parts = [
    ['Writes with keys, last hour', listed(ends.map((end) => [keyed[end], words[end]]))],
    [
      'Keys now',
      listed([
        [inProgress, 'in progress'],
        [ambiguous, 'ambiguous'],
      ]),
    ],
    [
      'Lost responses without a key',
      listed([
        [unkeyed.reconciled, 'reconciled'],
        [unkeyed.unknown, 'unknown'],
      ]),
    ],
    ['Sent again', resent > 0 ? count(resent) : ''],
  ];
  return parts
    .filter(([, text]) => text !== '')
    .map((part) => `${part.join(': ')}.`)
    .join(' ');
}

function listed(counts: readonly (readonly [number, string])[]): string {
  return counts
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${count(number)} ${word}`)
    .join(', ');
}
